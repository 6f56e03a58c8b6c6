// What the npm SDKs' checks share: the acts they are handed, and how they report.

export const PICTURE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

// Run every check with its act, and print one JSON line for each.
export async function perform(checks) {
  const acts = JSON.parse(process.argv[2]);
  for (const [name, check] of Object.entries(checks)) {
    console.log(JSON.stringify({ check: name, ...(await verdictOf(check, acts[name])) }));
  }
}

// Whatever an SDK throws is a finding, and the next check still runs.
async function verdictOf(check, act) {
  try {
    return { ok: true, detail: String(await check(act)) };
  } catch (problem) {
    return { ok: false, detail: `${problem.name}: ${problem.message}` };
  }
}
