// Tables kept in this browser, so that a reload finds them and pictures can name their rows. The service gives no rows out.

const DATABASE = "melm";
const STORE = "tables";
const PENDING = "pending"; // the file that was chosen and not sent yet
const KEPT = 8;

function open() {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
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

// Private windows may refuse storage; the page then works without it.
const orNothing = (promise) => promise.catch(() => undefined);

export const keepPending = (file) => orNothing(run("readwrite", (store) => store.put(file, PENDING)));
export const findPending = () => orNothing(run("readonly", (store) => store.get(PENDING)));
export const findTable = (datasetId) => orNothing(run("readonly", (store) => store.get(datasetId)));

export async function keepTable(datasetId, table) {
  await orNothing(run("readwrite", (store) => store.put(table, datasetId)));
  const ids = (await orNothing(run("readonly", (store) => store.getAllKeys()))) ?? [];
  const oldest = ids
    .filter((id) => id !== PENDING && id !== datasetId)
    .sort()
    .slice(0, -KEPT); // ids sort by time
  for (const id of oldest) await orNothing(run("readwrite", (store) => store.delete(id)));
}
