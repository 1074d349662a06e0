// Reads arrays from NumPy's npz files, as the service writes them: zip archives with uncompressed members.

const LOCAL_FILE = 0x04034b50;
const TYPES = { "<f4": Float32Array, "<f8": Float64Array, "<i8": BigInt64Array, "<i4": Int32Array, "|u1": Uint8Array };

// { name: { data, shape } }; text and other types are skipped.
export function readNpz(buffer) {
  const view = new DataView(buffer);
  const arrays = {};
  for (let at = 0; at + 30 <= buffer.byteLength && view.getUint32(at, true) === LOCAL_FILE; ) {
    const nameLength = view.getUint16(at + 26, true);
    const extra = new Uint8Array(buffer, at + 30 + nameLength, view.getUint16(at + 28, true));
    const name = new TextDecoder().decode(new Uint8Array(buffer, at + 30, nameLength));
    const start = at + 30 + nameLength + extra.length;
    const size = sizeOf(view, at, extra);
    const array = readNpy(buffer, start);
    if (array) arrays[name.replace(/\.npy$/, "")] = array;
    at = start + size;
  }
  return arrays;
}

// NumPy writes sizes into the extra field of zip64, and what does not fit there as 2^32 - 1.
function sizeOf(view, at, extra) {
  const size = view.getUint32(at + 18, true);
  if (size !== 0xffffffff) return size;
  return Number(new DataView(extra.buffer, extra.byteOffset).getBigUint64(12, true));
}

function readNpy(buffer, start) {
  const version = new Uint8Array(buffer, start + 6, 1)[0];
  const view = new DataView(buffer, start);
  const [length, from] = version === 1 ? [view.getUint16(8, true), 10] : [view.getUint32(8, true), 12];
  const header = new TextDecoder().decode(new Uint8Array(buffer, start + from, length));
  const [, type] = header.match(/'descr': '([^']+)'/) ?? [];
  const shape = header.match(/'shape': \(([^)]*)\)/)[1].split(",").filter((part) => part.trim()).map(Number);
  if (!TYPES[type]) return null;
  const count = shape.reduce((product, part) => product * part, 1);
  const begin = start + from + length;
  const data = new TYPES[type](buffer.slice(begin, begin + count * TYPES[type].BYTES_PER_ELEMENT)); // aligned
  return { data, shape };
}
