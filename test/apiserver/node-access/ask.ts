/** Asks a server, ours or a real one, everything that node n1 may try. */
import { type Question, questions, titleOf, verbs } from './questions.ts'
import { requests } from './requests.ts'
import { world } from './world.ts'

/** One request over HTTPS as an administrator. */
export type Send = (
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: object },
) => Promise<{ status: number; body: unknown }>

export interface Verdict {
  code: number
  /** Of a refusal. */
  message?: string
}
export interface Verdicts {
  /** By question: `allowed` or the refusal's reason, with the verbs that it holds for. */
  authorizer: Record<string, Record<string, string>>
  requests: Record<string, Verdict>
}

const user = 'system:node:n1'
const groups = ['system:nodes', 'system:authenticated']
/** Of several groups one header has the first; the server adds `system:authenticated`. */
const asNode = { 'impersonate-user': user, 'impersonate-group': 'system:nodes' }

export async function askAll(send: Send): Promise<Verdicts> {
  await createWorld(send)
  return { authorizer: await askAuthorizer(send), requests: await sendRequests(send) }
}

async function createWorld(send: Send): Promise<void> {
  for (const { path, object } of world) {
    const { status, body } = await send(path, { method: 'POST', body: object })
    if (status !== 201 && status !== 409) throw new Error(`${path} ${object.metadata?.name}: ${messageOf(body)}`)
  }
}

async function askAuthorizer(send: Send): Promise<Verdicts['authorizer']> {
  const verdicts: Verdicts['authorizer'] = {}
  for (const question of questions) {
    const found: Record<string, string[]> = {}
    for (const verb of verbs) {
      const verdict = await review(send, verb, question)
      found[verdict] = [...(found[verdict] ?? []), verb]
    }
    verdicts[titleOf(question)] = Object.fromEntries(Object.entries(found).map(([key, list]) => [key, list.join(' ')]))
  }
  return verdicts
}

async function review(send: Send, verb: string, { fieldSelector, ...question }: Question): Promise<string> {
  const selector = fieldSelector && {
    fieldSelector: { requirements: [{ key: fieldSelector.key, operator: 'In', values: [fieldSelector.value] }] },
  }
  const spec = { user, groups, resourceAttributes: { verb, version: '*', ...question, ...selector } }
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
  const { status, body } = await send(path, { method: 'POST', body: { spec } })
  if (status !== 201) throw new Error(`${verb} ${titleOf(question)}: ${messageOf(body)}`)
  const { allowed, reason } = (body as { status: { allowed: boolean; reason?: string } }).status
  return allowed ? 'allowed' : reason || 'refused'
}

async function sendRequests(send: Send): Promise<Verdicts['requests']> {
  const verdicts: Verdicts['requests'] = {}
  const uids = new Map<string, string>()
  for (const [title, { method, path, body }] of Object.entries(requests)) {
    const text = body && (await withUids(JSON.stringify(body), send, uids))
    const { status, body: answer } = await send(method === 'GET' ? path : asDryRun(path), {
      method,
      headers: { ...asNode, ...(method === 'PATCH' && { 'content-type': 'application/merge-patch+json' }) },
      body: text && JSON.parse(text),
    })
    const message = status < 300 ? undefined : withoutUids(messageOf(answer), uids)
    verdicts[title] = { code: status, ...(message !== undefined && { message }) }
  }
  return verdicts
}

const asDryRun = (path: string): string => `${path}${path.includes('?') ? '&' : '?'}dryRun=All`

async function withUids(text: string, send: Send, uids: Map<string, string>): Promise<string> {
  for (const [, path = ''] of text.matchAll(/\{uid:([^}]+)\}/g)) {
    if (uids.has(path)) continue
    const { body } = await send(path, {})
    uids.set(path, (body as { metadata: { uid: string } }).metadata.uid)
  }
  return text.replace(/\{uid:([^}]+)\}/g, (_, path: string) => uids.get(path) ?? '')
}

/** The difference of two Go structs, which upstream prints, is left out. */
function withoutUids(message: string, uids: Map<string, string>): string {
  let text = message.replace(/(fields other than status\.quantity and status\.conditions).*/s, '$1')
  for (const [path, uid] of uids) text = text.replaceAll(uid, `{uid:${path}}`)
  return text
}

const messageOf = (body: unknown): string => (body as { message?: string } | undefined)?.message ?? String(body)
