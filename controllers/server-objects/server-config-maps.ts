import { X509Certificate } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { ignoreNotFound, ignoring } from '../../shared/api/status/status-error.ts'
import type { ConfigMap } from '../../shared/api/types.ts'
import type { Client } from '../../shared/client/client.ts'
import { configMaps } from '../../shared/client/resources.ts'
import { parseTime, toTime } from '../../shared/clock/timestamp.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createLoopQueue } from '../loop-queue.ts'

type Data = Readonly<Record<string, string>>

export interface Authorities {
  /** PEM; the CA of client certificates that the server accepts. */
  clientCa: string
  /** Holds the CA of the certificate that the server shows to servers of APIServices, in PEM. */
  requestHeaderCa: string
}

interface Facts extends Authorities {
  nowMs: number
}
const namespace = 'kube-system'
/** ConfigMaps in kube-system by which the API server describes itself: what each must hold, given what it holds now. */
const contents: Readonly<Record<string, (known: Data, facts: Facts) => Data>> = {
  // For API servers behind this one. Upstream: pkg/controlplane/controller/clusterauthenticationtrust.
  'extension-apiserver-authentication': (known, { clientCa, requestHeaderCa, nowMs }) => ({
    ...known,
    'client-ca-file': combined([known['client-ca-file'] ?? '', clientCa], nowMs),
    'requestheader-allowed-names': '["front-proxy-client"]',
    'requestheader-client-ca-file': combined([known['requestheader-client-ca-file'] ?? '', requestHeaderCa], nowMs),
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-uid-headers': '["X-Remote-Uid"]',
    'requestheader-username-headers': '["X-Remote-User"]',
  }),
  // Says since when the use of old tokens is recorded. Upstream: pkg/controlplane/controller/legacytokentracking.
  'kube-apiserver-legacy-service-account-token-tracking': (known, { nowMs }) =>
    isDate(known.since) ? known : { ...known, since: toTime(nowMs).slice(0, 10) },
}

const isDate = (text = ''): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`))

/** The certificates of all texts, each once, without those that have expired and what cannot be read. */
function combined(texts: readonly string[], nowMs: number): string {
  const found = new Set<string>()
  for (const [pem] of texts.join('\n').matchAll(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)) {
    try {
      const certificate = new X509Certificate(pem)
      if (parseTime(certificate.validTo) > nowMs) found.add(certificate.toString())
    } catch {}
  }
  return [...found].join('')
}

/** Makes them, or brings them up to date. */
export async function ensureServerConfigMaps(client: Client, facts: Facts): Promise<void> {
  await Promise.all(
    Object.keys(contents).map(async (name) =>
      write(client, name, await client.get<ConfigMap>(configMaps, { namespace, name }).catch(ignoreNotFound), facts),
    ),
  )
}

async function write(client: Client, name: string, known: ConfigMap | undefined, facts: Facts): Promise<void> {
  const data = contents[name]?.(known?.data ?? {}, facts)
  if (!data || (known && isDeepStrictEqual({ ...known.data }, data))) return
  // A change meanwhile makes an event of its own.
  if (known) await client.update(configMaps, { ...known, data }).catch(ignoring('Conflict', 'NotFound'))
  else await client.create(configMaps, { metadata: { namespace, name }, data }).catch(ignoring('AlreadyExists'))
}

/** Brings them back when they are deleted or changed. */
export function startServerConfigMaps(
  { client, informers, clock, log }: ControllerContext,
  authorities: Authorities,
): Controller {
  const changed = ({ metadata }: ConfigMap): void => queue.add(metadata.name ?? '')
  const maps = Object.keys(contents).map((name) =>
    informers.selected<ConfigMap>(configMaps, {
      selection: { namespace, fieldSelector: `metadata.name=${name}` },
      handlers: [{ onUpdate: changed, onDelete: changed }],
    }),
  )
  const queue = createLoopQueue({ clock, log, loop: 'server-config-maps', object: 'ConfigMap' }, async (name) => {
    const known = maps.map((map) => map.get({ namespace, name })).find(Boolean)
    await write(client, name, known, { ...authorities, nowMs: clock.now() })
  })
  return { close: () => queue.close() }
}
