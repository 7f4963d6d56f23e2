import type { Report } from '../report.ts'

/**
 * Returns the report as JSON, for programs. The data that only pictures need is left out, because it is many times
 * longer than the rest.
 */
export const jsonReport = (report: Report): string =>
  `${JSON.stringify(report, (key, value) => (key === 'seen' ? undefined : value), 2)}\n`
