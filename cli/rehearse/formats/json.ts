import type { Report } from '../report.ts'

/** For programs. What only pictures need is left out: it is as long as all the rest many times over. */
export const jsonReport = (report: Report): string =>
  `${JSON.stringify(report, (key, value) => (key === 'seen' ? undefined : value), 2)}\n`
