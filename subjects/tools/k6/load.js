// The load that k6 makes: one GET after the other in each virtual user, or at RATE a second by any free user; its
// whole summary is printed as JSON.
import http from "k6/http";
import { Counter } from "k6/metrics";

// Rates of k6 are whole numbers; time units are not, so that any rate is possible.
const atRate = () => ({
  executor: "constant-arrival-rate",
  rate: 1000,
  timeUnit: `${1e6 / Number(__ENV.RATE)}ms`,
  duration: __ENV.DURATION,
  preAllocatedVUs: Number(__ENV.CONNECTIONS),
});

export const options = {
  discardResponseBodies: true,
  ...(__ENV.RATE ? { scenarios: { rate: atRate() } } : {}),
  summaryTrendStats: ["avg", "min", "med", "max", "p(75)", "p(90)", "p(95)", "p(99)", "p(99.9)"],
};

// k6 takes a status of 400 and above for a failed request. Here that is an answer: times of all answers are
// separate from those of requests without one.
http.setResponseCallback(http.expectedStatuses({ min: 100, max: 599 }));

const non2xx = new Counter("non_2xx");
// The ranges of k6's error codes: https://grafana.com/docs/k6/latest/javascript-api/error-codes/
const errors = [
  [1050, 1050, new Counter("error_timeout")],
  [1100, 1199, new Counter("error_dns")],
  [1200, 1299, new Counter("error_tcp")],
  [1300, 1399, new Counter("error_tls")],
  [1000, 1999, new Counter("error_other")],
];

export default function () {
  const response = http.get(__ENV.URL, { timeout: __ENV.TIMEOUT });
  if (response.status === 0) {
    errors.find(([from, to]) => from <= response.error_code && response.error_code <= to)?.[2].add(1);
  } else if (response.status < 200 || response.status > 299) {
    non2xx.add(1);
  }
}

export function handleSummary(data) {
  return { stdout: JSON.stringify(data) };
}
