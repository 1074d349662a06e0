// Rows as CSV.

export const asCsv = (lines) => lines.map((cells) => cells.map(cell).join(",")).join("\r\n");

function cell(value) {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Text that a spreadsheet would interpret as a formula is prefixed by an apostrophe.
export const harmless = (value) => (typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : value);
