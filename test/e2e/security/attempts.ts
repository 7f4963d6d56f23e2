/** What several clients try. */
import type { Test } from 'tap'
import type { Asker, Question } from './ask.ts'
import { instrumentRequests, kubeletRequests } from './everything.ts'
import { type Client, core, type Stage } from './stage.ts'

export type Attempt = (t: Test, client: Asker) => Promise<void>

const shown = ({ method = 'GET', path }: Question): string => `${method} ${path}`

/** By what may not be done. */
export type Attempts = Record<string, Attempt>

/** All are refused; one assertion for all, since they are thousands. */
export function refused(questions: Question[] | (() => Question[]), codes = [401, 403]): Attempt {
  return async (t, client) => {
    const asked = typeof questions === 'function' ? questions() : questions
    const statuses = await Promise.all(asked.map((question) => client.status(question)))
    const passed = asked.flatMap((question, i) =>
      codes.includes(statuses[i] ?? 0) ? [] : [`${shown(question)}: ${statuses[i]}`],
    )
    t.same(passed, [], `${asked.length} requests`)
  }
}

/** A cluster as a user starts it, and its clients. */
export interface Setting {
  stage: Stage
  ask: Record<Client, Asker>
  /** Each verb on each kind. */
  everyObject: Question[]
}

export const instruments = refused(instrumentRequests)
export const configuration = refused(
  ['/metrics', '/configz', '/flagz', '/statusz', '/debug/pprof/', '/logs'].map((path) => ({ path })),
)
export const kubeletOf =
  ({ stage }: Setting, client: Client): Attempt =>
  (t) =>
    refused(kubeletRequests)(t, stage.kubelet(stage.credentials[client]))
export const actAs = ({ stage: { nodeName } }: Setting): Attempt =>
  refused([
    { path: `${core}/secrets`, headers: { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' } },
    { path: `${core}/secrets`, headers: { 'impersonate-user': 'system:serviceaccount:kube-system:default' } },
    {
      path: `${core}/pods`,
      headers: { 'impersonate-user': `system:node:${nodeName}`, 'impersonate-group': 'system:nodes' },
    },
    { path: `${core}/pods`, headers: { 'impersonate-user': 'x', 'impersonate-extra-scopes': 'all' } },
    { path: `${core}/pods`, headers: { 'impersonate-user': 'x', 'impersonate-uid': '0' } },
  ])
