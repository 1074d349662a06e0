// The last chosen file with its settings, stored in this browser, so that reload and the back button keep it.

const DATABASE = "melm";
const STORE = "tables";
const CHOSEN = "pending";

function open() {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 2);
    opening.onupgradeneeded = () => {
      if (opening.result.objectStoreNames.contains(STORE)) opening.result.deleteObjectStore(STORE); // of version 0.1
      opening.result.createObjectStore(STORE);
    };
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
}

async function run(mode, action) {
  const database = await open();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(STORE, mode);
      const asked = action(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(asked.result);
      transaction.onerror = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}

let held; // fallback for private windows without storage: the file is kept until a reload

// A file is { name, body (a Blob), type, settings (parameters of the upload), wish (method, params, validation) }.
export async function keepFile(file) {
  held = file;
  await run("readwrite", (store) => store.put(file, CHOSEN)).catch(() => undefined);
}

export async function findFile() {
  return held ?? (await run("readonly", (store) => store.get(CHOSEN)).catch(() => undefined));
}
