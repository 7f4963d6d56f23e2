/** Makes lines of an audit log comparable: what differs from run to run is named by what it is. */

type Json = Record<string, unknown>

const ownIds = /^(uid|resourceVersion|auditID|clusterIP|stageTimestamp|requestReceivedTimestamp)$/
const times = /^(creationTimestamp|deletionTimestamp|time)$/

/** Returns the lines of the requests that a test has sent, by their audit ID and in the order of their stages. */
export function normalised(text: string): Record<string, unknown[]> {
  const found: Record<string, unknown[]> = {}
  for (const line of text.split('\n')) {
    if (line === '') continue
    const event = JSON.parse(line) as Json & { auditID: string }
    const id = event.auditID
    if (/^request-\d+$/.test(id)) (found[id] ??= []).push(plain(event))
  }
  return found
}

function plain(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) {
    if (key === 'clusterIPs') return ['clusterIP']
    // Columns have descriptions of our own.
    if (key === 'columnDefinitions') return (value as Json[]).map(({ name, type }) => ({ name, type }))
    if (key === 'cells') return value.map((cell) => (/^\d+s$/.test(String(cell)) ? 'age' : cell))
    if (key === 'authentication.kubernetes.io/credential-id') return ['credential']
    return value.map((one) => plain(one))
  }
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one, name)]))
  if (typeof value !== 'string') return value
  if (ownIds.test(key) || times.test(key)) return key
  return value === 'kubernetes-admin' || value === 'admin' ? 'administrator' : text(value)
}

const text = (value: string): string =>
  value
    .replaceAll(/\b(kubernetes-)?admin\b(?=")/g, 'administrator')
    // Of several bindings that allow a request, a real server names any.
    .replace(/^RBAC: allowed by .* (?=to Group "system:authenticated")/, 'RBAC: allowed ')
    .replace(/in scheme "[^"]*"/, 'in a scheme')
    .replaceAll(/\bBad_[a-z0-9]{5}\b/g, 'Bad_generated')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,}/g, 'uid')
