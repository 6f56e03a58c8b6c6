// What the npm SDKs' checks share: the acts they are handed, and how they report.

import assert from "node:assert/strict";

export const PICTURE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
// What the simulator writes wherever a tool wants text.
const CITY = "river stone";

// Play every act that was handed over with its check, and print one JSON line for each.
export async function perform(checks) {
  for (const [name, act] of Object.entries(JSON.parse(process.argv[2]))) {
    console.log(JSON.stringify({ act: name, ...(await verdictOf(checks[act.check], act)) }));
  }
}

// What an SDK tells of usage, over all calls of a check.
export class Usage {
  constructor(input, output) {
    this.tokens = [input, output];
  }

  toString() {
    return `usage ${this.tokens}`;
  }
}

export function weather({ city }) {
  assert.equal(city, CITY);
  return "Rain until noon.";
}

// Whatever an SDK throws is a finding, and the next check still runs.
async function verdictOf(check, act) {
  try {
    const found = await check(act);
    return { ok: true, detail: String(found), usage: found instanceof Usage ? found.tokens : null };
  } catch (problem) {
    return { ok: false, detail: `${problem.name}: ${problem.message}` };
  }
}
