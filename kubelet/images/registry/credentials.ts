import { parsedJson } from '../../../shared/api/json/json-map.ts'
import type { Credentials } from '../../runtime/container-runtime.ts'

/** Lists credentials, each with the registry, or the part of one, that it is for: `*.example.com`, `host:5000/team`. */
export type Keyring = readonly { place: string; credentials: Credentials }[]

const dockerHub = 'docker.io'
const dockerHubNames = ['docker.io', 'index.docker.io', 'registry-1.docker.io']

/**
 * Reads a `.dockerconfigjson`, the older `.dockercfg`, or Docker's own `config.json`. What is malformed gives no
 * credentials, as with the kubelet.
 */
export function readKeyring(text: string): Keyring {
  const config = objectOf(parsedJson(text))
  const auths = 'auths' in config ? objectOf(config.auths) : config
  return Object.entries(auths).flatMap(([place, entry]) => {
    const credentials = credentialsIn(objectOf(entry))
    return credentials ? [{ place: placeOf(place), credentials }] : []
  })
}

/** Returns the credentials for an image's repository; those for the longest place come first. */
export function credentialsFor(keyring: Keyring, { domain, repository }: { domain: string; repository: string }) {
  const sorted = [...keyring].sort((a, b) => (a.place < b.place ? 1 : a.place > b.place ? -1 : 0))
  const fits = sorted.filter(({ place }) => isWithin(`${domain}/${repository}`, place))
  const unique = new Map<string, Credentials>()
  for (const { credentials } of fits) {
    const { secret: _, ...said } = credentials
    const key = JSON.stringify(said)
    if (!unique.has(key)) unique.set(key, credentials)
  }
  return [...unique.values()]
}

/** Upstream: credentialprovider.DockerKeyring takes the scheme and the version of the API off. */
function placeOf(key: string): string {
  const place = key
    .replace(/^https?:\/\//, '')
    .replace(/^([^/]+)\/v[12]\//, '$1/')
    .replace(/\/+$/, '')
    .replace(/^([^/]+)\/v[12]$/, '$1')
  return dockerHubNames.includes(place) ? dockerHub : place
}

/** Host by host part, each a pattern; the same port if one is named; the path by its beginning. */
function isWithin(image: string, place: string): boolean {
  const [host = '', ...path] = place.split('/')
  const [imageHost = '', ...imagePath] = image.split('/')
  const [name = '', port] = splitPort(host)
  const [imageName = '', imagePort] = splitPort(imageHost)
  const parts = name.split('.')
  const imageParts = imageName.split('.')
  return (
    port === imagePort &&
    parts.length === imageParts.length &&
    parts.every((part, index) => patternOf(part).test(imageParts[index] ?? '')) &&
    `${imagePath.join('/')}`.startsWith(path.join('/'))
  )
}

const splitPort = (host: string): string[] => /^(.*?)(?::(\d+))?$/.exec(host)?.slice(1) ?? [host]
const patternOf = (part: string): RegExp =>
  new RegExp(
    `^${part
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
    'i',
  )

function credentialsIn({ auth, username, password, identitytoken }: Record<string, unknown>): Credentials | undefined {
  const token = textOf(identitytoken)
  const decoded = Buffer.from(textOf(auth), 'base64').toString()
  const colon = decoded.indexOf(':')
  const [user, secret] =
    colon > 0
      ? [decoded.slice(0, colon), decoded.slice(colon + 1).replace(/\0+$/, '')]
      : [textOf(username), textOf(password)]
  if (!token && (!user || !secret)) return undefined
  return { username: user, password: secret, ...(token && { identityToken: token }) }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
