import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { Problem } from './problem.ts'

export interface Asker {
  name: string
  groups: readonly string[]
  uid?: string
  extra?: Readonly<Record<string, readonly string[]>>
}
/** Describes an access to `nodes`; `path` is the path as it was requested. */
export interface Access {
  verb: string
  subresource: string
  path: string
}
/** Authenticates and authorizes requests by asking the API server. */
export interface Reviews {
  /** Resolves to the user of the token; to undefined if the token is not valid. */
  userOf(token: string): Promise<Asker | undefined>
  isAllowed(user: Asker, access: Access): Promise<boolean>
}

const administrators = 'system:masters'

/**
 * Maps paths to subresources as upstream's GetRequestAttributes does (pkg/kubelet/server/auth.go): access to one of
 * them is enough.
 */
const subresources: Readonly<Record<string, readonly string[]>> = {
  metrics: ['metrics'],
  stats: ['stats'],
  logs: ['log'],
  pods: ['pods', 'proxy'],
  runningpods: ['pods', 'proxy'],
  healthz: ['healthz', 'proxy'],
  configz: ['configz', 'proxy'],
}
const verbs: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

/**
 * 401 for a request with neither a certificate of our CA nor a valid token, 403 for one whose user the API server does
 * not allow it. Administrators (the API server itself is one) are let in without a question.
 */
export async function authorize(
  request: IncomingMessage,
  root: string | undefined,
  reviews: () => Promise<Reviews>,
): Promise<void> {
  const user = certificateUser(request) ?? (await tokenUser(request, reviews))
  if (!user) throw new Problem(401, 'Unauthorized')
  if (user.groups.includes(administrators)) return
  const verb = verbs[request.method ?? ''] ?? ''
  const path = (request.url ?? '/').replace(/\?.*$/s, '')
  const wanted = (Object.hasOwn(subresources, root ?? '') && subresources[root ?? '']) || ['proxy']
  for (const subresource of wanted) {
    if (await (await reviews()).isAllowed(user, { verb, subresource, path }).catch(unanswered)) return
  }
  throw new Problem(
    403,
    `Forbidden (user=${user.name}, verb=${verb}, resource=nodes, subresource(s)=[${wanted.join(' ')}])`,
  )
}

function certificateUser({ socket }: IncomingMessage): Asker | undefined {
  const { authorized } = socket as TLSSocket
  if (!authorized) return undefined
  const { CN, O } = (socket as TLSSocket).getPeerCertificate().subject
  return { name: [CN].flat()[0] ?? '', groups: [...[O ?? []].flat(), 'system:authenticated'] }
}

async function tokenUser({ headers }: IncomingMessage, reviews: () => Promise<Reviews>): Promise<Asker | undefined> {
  const [, token] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? []
  return token === undefined ? undefined : (await reviews()).userOf(token).catch(() => undefined)
}

const unanswered = (error: Error): never => {
  throw new Problem(500, `Authorization error (${error.message})`)
}
