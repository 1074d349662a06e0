// A table out of text as spreadsheets and programs write it: , ; tab or |, decimal comma, quotes, with or without header.

const DELIMITERS = [",", ";", "\t", "|"];
const MISSING = new Set(["", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "?", "-", ".", "missing"]);
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const DECIMAL_COMMA = /^[+-]?(\d{1,3}(\.\d{3})+|\d+)?,\d+(e[+-]?\d+)?$/i;

// Why a text is no table, with what to do about it.
export class BadTable extends Error {
  constructor(message, remedy) {
    super(message);
    this.remedy = remedy;
  }
}

export const isMissing = (cell) => MISSING.has(cell.toLowerCase());
export const isNumber = (cell) => NUMBER.test(cell) && Number.isFinite(Number(cell));

// The text of a file; old Windows programs do not write UTF-8.
export async function readText(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes.length === 0)
    throw new BadTable("The file is empty.", "Choose a file with a header row and one line a row.");
  if (bytes[0] === 0x50 && bytes[1] === 0x4b) {
    throw new BadTable("This is a spreadsheet or an archive, not a CSV file.", "Open it and save it as CSV.");
  }
  if (bytes.subarray(0, 4096).includes(0)) {
    throw new BadTable("This is not a text file.", "Choose a CSV file: text, one line a row.");
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

// { names, rows, notes }: rows of trimmed cells, numbers written with a point; notes say what was understood.
export function parseTable(text) {
  const clean = text.replace(/^\uFEFF/, "");
  const delimiter = findDelimiter(clean);
  const lines = split(clean, delimiter).filter((cells) => cells.some((cell) => cell !== ""));
  if (lines.length === 0)
    throw new BadTable("There is nothing in it.", "Choose a file with a header row and one line a row.");
  const notes = delimiter === "," ? [] : [`Columns are separated by ${delimiter === "\t" ? "tabs" : delimiter}.`];
  if (delimiter !== "," && normalizeDecimals(lines)) notes.push("Decimal commas were read as points.");
  const hasHeader = !lines[0].every((cell) => isNumber(cell) || isMissing(cell));
  const header = hasHeader ? lines.shift() : lines[0].map((_, index) => `column ${index + 1}`);
  if (!hasHeader) notes.push("There is no header row, so columns are numbered.");
  const ragged = lines.findIndex((cells) => cells.length !== header.length);
  if (ragged >= 0) {
    const where = `Line ${ragged + 1 + hasHeader} has ${lines[ragged].length} values, the header has ${header.length}.`;
    throw new BadTable(where, "Check for a separator inside a value: such values need quotes.");
  }
  if (header.length < 2) {
    throw new BadTable("There is only one column.", "A table needs a column of classes and at least one of numbers.");
  }
  if (lines.length === 0) throw new BadTable("There is a header, but no row.", "Choose a file with one line a row.");
  return { names: unique(header), rows: lines, notes };
}

function findDelimiter(text) {
  const first = text.slice(0, 1 + text.search(/\n|$/)).replace(/"[^"]*"/g, "");
  const counts = DELIMITERS.map((delimiter) => first.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))];
}

function split(text, delimiter) {
  if (!text.includes('"')) {
    return text.split(/\r\n|\n|\r/).map((line) => line.split(delimiter).map((cell) => cell.trim()));
  }
  const rows = [];
  let row = [],
    cell = "",
    quoted = false;
  const endCell = () => (row.push(cell.trim()), (cell = ""));
  const endRow = () => (endCell(), rows.push(row), (row = []));
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (quoted && character === '"' && text[index + 1] === '"') ((cell += '"'), (index += 1));
    else if (character === '"' && (quoted || cell.trim() === "")) quoted = !quoted;
    else if (quoted) cell += character;
    else if (character === delimiter) endCell();
    else if (character === "\n") endRow();
    else if (character !== "\r") cell += character;
  }
  if (quoted)
    throw new BadTable("A quote is opened and never closed.", 'Look for a single " and remove it or write it twice.');
  endRow();
  return rows;
}

// 1.234,5 becomes 1234.5; answers whether anything changed.
function normalizeDecimals(rows) {
  let changed = false;
  for (const row of rows) {
    row.forEach((cell, index) => {
      if (!DECIMAL_COMMA.test(cell)) return;
      row[index] = cell.replaceAll(".", "").replace(",", ".");
      changed = true;
    });
  }
  return changed;
}

function unique(names) {
  const seen = new Set();
  return names.map((name, index) => {
    const base = name || `column ${index + 1}`;
    let free = base;
    for (let number = 2; seen.has(free); number += 1) free = `${base} ${number}`;
    seen.add(free);
    return free;
  });
}

export const writeRow = (cells) => cells.map(quote).join(",");
const quote = (cell) => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
