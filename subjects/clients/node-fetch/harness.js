// Times calls in this process, by the rules of Python's timeit: `HARNESS=timeit` of the subject contract.
import process from "node:process";

const runs = 7;
// The duration of the warm-up, and the minimum of a run: timeit's own choice. In nanoseconds.
const enough = 200_000_000;

// Times a call that resolves to the code and the bytes of content of a URL's row; a loop is one call, or several that
// are awaited together. Resolves to the line with the result.
export async function timeCalls(call, callsPerLoop) {
  const harness = new Harness(call, callsPerLoop);
  let outcome = "ok";
  try {
    await harness.measure();
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    outcome = error.message;
  }
  return `${JSON.stringify({
    outcome,
    loops: harness.loops,
    calls_per_loop: callsPerLoop,
    runs_ns: harness.runs.map((run) => run.wall),
    cpu_user_ns: harness.runs.map((run) => run.user),
    cpu_system_ns: harness.runs.map((run) => run.system),
    answers: [...harness.answers.values()],
  })}\n`;
}

// The URL of stdin: the first line that is not empty; without one, an empty text, which is not a URL.
export async function readURL(lines) {
  for await (const line of lines) if (line.trim()) return Buffer.from(line, "latin1").toString().trim();
  return "";
}

// A call ended in an error; the message is its name.
class CallError extends Error {}

class Harness {
  loops = null;
  runs = [];
  answers = new Map();

  constructor(call, callsPerLoop) {
    this.call = call;
    this.callsPerLoop = callsPerLoop;
  }

  // Warms up, chooses the number of loops in a run, runs.
  async measure() {
    const start = process.hrtime.bigint();
    while (process.hrtime.bigint() - start < BigInt(enough)) await this.loop();
    for (const loops of numbersOfLoops()) {
      if ((await this.run(loops)).wall >= enough) {
        this.loops = loops;
        break;
      }
    }
    for (let number = 0; number < runs; number++) this.runs.push(await this.run(this.loops));
  }

  async run(loops) {
    const before = process.cpuUsage();
    const start = process.hrtime.bigint();
    for (let number = 0; number < loops; number++) await this.loop();
    const wall = Number(process.hrtime.bigint() - start);
    const { user, system } = process.cpuUsage(before); // microseconds
    return { wall, user: user * 1000, system: system * 1000 };
  }

  // Makes the calls, and records their answers for verification; an error ends the measurement.
  async loop() {
    if (this.callsPerLoop === 1) {
      const answer = await this.call();
      this.keep(answer);
      refuseError(answer);
      return;
    }
    const answers = await Promise.all(Array.from({ length: this.callsPerLoop }, () => this.call()));
    answers.forEach((answer) => this.keep(answer));
    answers.forEach(refuseError);
  }

  keep({ code, bodyLength }) {
    const key = `${code} ${bodyLength}`;
    const kept = this.answers.get(key);
    if (kept) kept.calls++;
    else this.answers.set(key, { code: String(code), body_length: bodyLength, calls: 1 });
  }
}

// A status is a number, the name of an error is not.
function refuseError({ code }) {
  if (typeof code === "string") throw new CallError(code);
}

// 1, 2, 5, 10, 20, 50 and so on, as timeit's autorange tries them.
function* numbersOfLoops() {
  for (let power = 1; ; power *= 10) yield* [power, 2 * power, 5 * power];
}
