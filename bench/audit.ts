/** What the audit log costs a request: events of level Metadata, in a file. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { measureAgainst, usual } from './compare/against.ts'
import { builtPackage } from './package.ts'
import { bareApi } from './processes.ts'
import type { Row } from './report.ts'

const GOAL = 1.05

/** Compares a server that writes a log with one that does not; both serve the same requests at the same time. */
export async function measureAudit(pairs: number): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'kubestage-audit-'))
  const packages = { now: builtPackage(), then: builtPackage() }
  const flags = { now: [...bareApi, ...auditFlags(folder)], then: bareApi }
  try {
    const verdicts = await measureAgainst({ packages, flags, figures: ['create', 'get'], pairs, ...usual })
    return verdicts.map(({ what, unit, median: { then }, ratio }) => ({
      what: `${what} with an audit log, and without`,
      unit: `${unit} of CPU`,
      ours: then * ratio,
      ceiling: then,
      goal: GOAL,
      smallerIsBetter: true,
    }))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the flags of a server that writes an audit log into the folder. */
function auditFlags(folder: string): string[] {
  const policy = join(folder, 'audit-policy.json')
  const omitStages = ['RequestReceived']
  const rules = [{ level: 'Metadata' }]
  writeFileSync(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages, rules }))
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${join(folder, 'audit.log')}`]
}
