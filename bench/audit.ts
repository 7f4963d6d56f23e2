/** What the audit log costs a request: events of level Metadata, in a file. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beside, cpuOf } from './cost.ts'
import { create, get, prepare, STORED } from './measure.ts'
import type { Server } from './processes.ts'
import type { Row } from './report.ts'

const COUNT = 2_000
const GOAL = 1.05

/** Returns the flags of a server that writes an audit log into the folder. */
export function auditFlags(folder: string): string[] {
  const policy = join(folder, 'audit-policy.json')
  const omitStages = ['RequestReceived']
  const rules = [{ level: 'Metadata' }]
  writeFileSync(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages, rules }))
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${join(folder, 'audit.log')}`]
}

/** Compares a server that writes a log with one that does not, in turns; the first round warms up. */
export async function measureAudit(servers: { with: Server; without: Server }, rounds: number): Promise<Row[]> {
  const costs = { create: { with: [], without: [] }, get: { with: [], without: [] } } as Record<
    'create' | 'get',
    Record<keyof typeof servers, number[]>
  >
  for (const { target } of Object.values(servers)) await prepare(target)
  for (let round = 0; round <= rounds; round++) {
    for (const which of ['without', 'with'] as const) {
      const name = (i: number): string => (round === 0 && i < STORED ? `stored-${i}` : `audited-${round}-${i}`)
      const creates = await cpuOf(servers[which], { count: COUNT, request: (i) => create(name(i)) })
      const gets = await cpuOf(servers[which], { count: 4 * COUNT, request: get })
      if (round === 0) continue
      costs.create[which].push(creates)
      costs.get[which].push(gets)
    }
  }
  return (['create', 'get'] as const).map((verb) =>
    beside(`${verb} with an audit log, and without`, costs[verb].with, costs[verb].without, GOAL),
  )
}
