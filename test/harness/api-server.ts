import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import type { Agent } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { urlToHttpOptions } from 'node:url'
import { type Logger, pino } from 'pino'
import type { Test } from 'tap'
import type { Http2Choice } from '../../apiserver/config.ts'
import type { Limits } from '../../apiserver/http/limits/limits.ts'
import { type ApiServer, startApiServer } from '../../apiserver/server.ts'
import { openStorage } from '../../apiserver/storage/open-storage.ts'
import type { Storage } from '../../apiserver/storage/storage.ts'
import type { Clock } from '../../shared/clock/clock.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { defaultFeatureGates, type FeatureGates } from '../../shared/config/feature-gates.ts'
import { ensureClusterPki } from '../../shared/pki/cluster-pki.ts'
import type { SigningKeySource } from '../../shared/pki/signing-key.ts'
import { http2OfRun } from './http2-of-run.ts'
import { type Answer, httpsExchange } from './https-exchange.ts'
import { storesOfRun } from './stores-of-run.ts'

/** An API server within the test's own process, the last of the run: no controllers, no kubelet. */
export interface TestApiServer extends ApiServer {
  /** One request over HTTP/1.1 as an administrator. */
  send(path: string, options?: SendOptions): Promise<Received>
  /** A GET over a connection that is kept. */
  kept(path: string, agent: Agent): Promise<Received>
  /** What an administrator's connection is made with. */
  tls: { ca: string; cert: string; key: string }
  /** Where its certificates and keys are. */
  pkiFolder: string
  /** Signs the tokens of service accounts; made when the first is issued. */
  serviceAccountKey: SigningKeySource
  /** A connection over HTTP/2 as an administrator. */
  session(): ClientHttp2Session
}
export interface SendOptions {
  method?: string
  headers?: Record<string, string>
  /** Objects are sent as JSON. */
  body?: string | Buffer | object
  anonymous?: boolean
  agent?: Agent
}
export interface Received extends Answer {
  /** The body as JSON; text when it is none. */
  body: unknown
}

interface TestApiServerOptions {
  bootstrapTokens?: boolean
  kubeletCertificateAuthority?: boolean
  clock?: Clock
  /** Default: that of the run, in memory. */
  storage?: Storage
  /** Default: that of the run. */
  http2?: Http2Choice
  /** Default: 10.96.0.0/16. */
  serviceCidr?: string
  /** Whose certificates and key it has. Default: its own. */
  like?: TestApiServer
}

export async function startTestApiServer(
  t: Pick<Test, 'teardown'>,
  gates: Partial<FeatureGates> = {},
  log: Logger = pino({ level: 'silent' }),
  limits: Partial<Limits> = {},
  {
    kubeletCertificateAuthority = false,
    bootstrapTokens,
    clock = realClock,
    storage,
    http2 = http2OfRun,
    serviceCidr = '10.96.0.0/16',
    like,
  }: TestApiServerOptions = {},
): Promise<TestApiServer> {
  const directory = mkdtempSync(join(tmpdir(), 'kubestage-api-'))
  if (like) cpSync(like.pkiFolder, directory, { recursive: true })
  const pki = ensureClusterPki({
    directory,
    nowMs: realClock.now(),
    host: '127.0.0.1',
    serviceAddress: '10.96.0.1',
    nodeName: 'node-1',
  })
  const start = (storage: Storage): Promise<ApiServer> =>
    startApiServer({
      host: '127.0.0.1',
      port: 0,
      tls: { cert: pki.apiServer.cert, key: pki.apiServer.key, clientCa: pki.ca.cert },
      kubeletClient: { ...pki.apiServerKubeletClient, ...(kubeletCertificateAuthority && { ca: pki.ca.cert }) },
      frontProxyClient: () => pki.frontProxyClient,
      serviceAccountKey: pki.serviceAccountKey,
      bootstrapTokens,
      serviceCidr,
      featureGates: { ...defaultFeatureGates, ...gates },
      clock,
      storage,
      log,
      limits,
      http2,
    })
  const servers: ApiServer[] = []
  if (storage) servers.push(await start(storage))
  else
    for (const { storage, ...others } of storesOfRun(directory))
      servers.push(await start(await openStorage(storage, { clock: realClock, ...others })))
  const server = servers.at(-1)!
  const sessions: ClientHttp2Session[] = []
  let closed = false
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    for (const session of sessions) session.destroy()
    for (const one of servers.reverse()) await one.close()
    rmSync(directory, { recursive: true, force: true })
  }
  t.teardown(close)
  const admin = server.client({ name: 'admin', groups: ['system:masters'] })
  const namespaces = { group: '', version: 'v1', plural: 'namespaces' }
  await admin.create(namespaces, { metadata: { name: 'default' } }).catch(unlessThere)
  const accounts = { group: '', version: 'v1', plural: 'serviceaccounts' }
  await admin.create(accounts, { metadata: { name: 'default', namespace: 'default' } }).catch(unlessThere)
  return {
    ...server,
    client: (user, options) => server.client(user, options),
    inject: (user, request) => server.inject(user, request),
    close,
    tls: { ...pki.admin, ca: pki.ca.cert },
    pkiFolder: directory,
    serviceAccountKey: pki.serviceAccountKey,
    session() {
      const session = connect(`https://127.0.0.1:${server.port}`, { ca: pki.ca.cert, ...pki.admin })
      session.on('error', () => {})
      sessions.push(session)
      return session
    },
    kept: (path, agent) =>
      send(`https://127.0.0.1:${server.port}${path}`, { ca: pki.ca.cert, ...pki.admin }, { agent }),
    send: (path, options = {}) =>
      send(`https://127.0.0.1:${server.port}${path}`, { ca: pki.ca.cert, ...pki.admin }, options),
  }
}

/** Of another server with the same storage. */
function unlessThere(error: { status?: { code?: number } }): void {
  if (error.status?.code !== 409) throw error
}

async function send(
  url: string,
  { ca, cert, key }: { ca: string; cert: string; key: string },
  { method = 'GET', headers = {}, body, anonymous = false, agent }: SendOptions,
): Promise<Received> {
  const payload = typeof body === 'object' && !Buffer.isBuffer(body) ? JSON.stringify(body) : body
  const answer = await httpsExchange(
    {
      ...urlToHttpOptions(new URL(url)),
      method,
      ca,
      agent: agent ?? false,
      ...(!anonymous && { cert, key }),
      headers: { ...(payload !== undefined && { 'content-type': 'application/json' }), ...headers },
    },
    payload,
  )
  return { ...answer, body: parsed(answer.bytes) }
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return bytes.toString('utf8')
  }
}
