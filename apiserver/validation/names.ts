/** Upstream's rules for names, labels and keys. Each answers with messages, none when the text is good. */

const regexHint = (examples: string[], pattern: string): string => {
  const [first, ...others] = examples.map((example) => `'${example}'`)
  const example = `e.g. ${[first, ...others.map((other) => ` or ${other}`)].join(', ')}`
  return ` (${example}, regex used for validation is '${pattern}')`
}
const compiled = (pattern: string) => new RegExp(`^(?:${pattern})$`)
const maxLength = (max: number) => `must be no more than ${max} characters`
const maxBytes = (max: number) => `must be no more than ${max} bytes`

/** Returns the rule for texts of at most `max` characters that match the pattern. */
function rule(
  pattern: string,
  words: string,
  examples: string[],
  { max = Number.POSITIVE_INFINITY, tooLong = maxLength(max) } = {},
): (text: string) => string[] {
  const form = compiled(pattern)
  const message = words + regexHint(examples, pattern)
  return (text) => {
    const messages = text.length > max ? [tooLong] : []
    if (!form.test(text)) messages.push(message)
    return messages
  }
}

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`
const UNDERSCORE_LABEL = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const QUALIFIED = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const HTTP_PATH = `[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+`
const subdomain = compiled(SUBDOMAIN)
const qualified = compiled(QUALIFIED)
const httpPath = compiled(HTTP_PATH)

const anyLabel = rule(
  LABEL,
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  ['my-name', '123-abc'],
)
export const dns1123Label = (text: string): string[] => [
  ...(text.length > 63 ? [maxLength(63)] : []),
  ...anyLabel(text).map((message) => (subdomain.test(text) ? 'must not contain dots' : message)),
]

export const dns1123Subdomain = rule(
  SUBDOMAIN,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  ['example.com'],
  { max: 253 },
)

/** Checks the name of a kind that declares its rule: what a name is generated from is not looked at then. */
export const declaredName = (text: string, { prefix }: { prefix: boolean }): string[] =>
  prefix ? [] : dns1123Subdomain(text).map((message) => (message === maxLength(253) ? maxBytes(253) : message))

export const dns1123SubdomainWithUnderscore = rule(
  `${UNDERSCORE_LABEL}(\\.${UNDERSCORE_LABEL})*`,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
  ['example.com'],
  { max: 253 },
)

/** `*.` and a subdomain. */
export const wildcardSubdomain = rule(
  `\\*\\.${SUBDOMAIN}`,
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  ['*.example.com'],
  { max: 253 },
)

export const dns1035Label = rule(
  '[a-z]([-a-z0-9]*[a-z0-9])?',
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  ['my-name', 'abc-123'],
  { max: 63 },
)

const NAME_PART = `must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character${regexHint(['MyName', 'my.name', '123-abc'], QUALIFIED)}`

/** Remembers texts that the rule accepts: the same keys and values come with nearly every object. */
function remembering(rule: (text: string) => string[]): (text: string) => string[] {
  const good = new Set<string>()
  return (text) => {
    if (good.has(text)) return []
    const messages = rule(text)
    if (messages.length > 0) return messages
    if (good.size >= maxRemembered) good.clear()
    good.add(text)
    return messages
  }
}
const maxRemembered = 1000

/** Label keys, annotation keys, finalizers: `[prefix/]name`. */
export const qualifiedName = remembering(qualifiedNameMessages)

function qualifiedNameMessages(text: string): string[] {
  const parts = text.split('/')
  if (parts.length > 2) {
    return [`a valid label key ${NAME_PART} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]
  }
  const name = parts.at(-1) ?? ''
  const messages: string[] = []
  if (parts.length === 2) {
    const prefix = parts[0] ?? ''
    if (prefix === '') messages.push('prefix part must be non-empty')
    else messages.push(...dns1123Subdomain(prefix).map((message) => `prefix part ${message}`))
  }
  if (name === '') messages.push('name part must be non-empty')
  else if (name.length > 63) messages.push(`name part ${maxBytes(63)}`)
  if (!qualified.test(name)) messages.push(`name part ${NAME_PART}`)
  return messages
}

export const labelValueMessages = remembering(
  rule(
    `(${QUALIFIED})?`,
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    ['MyValue', 'my_value', '12345'],
    { max: 63, tooLong: maxBytes(63) },
  ),
)

export const pathSegmentName = (text: string): string[] => {
  if (text === '.' || text === '..') return [`may not be '${text}'`]
  return ['/', '%'].filter((character) => text.includes(character)).map((character) => `may not contain '${character}'`)
}

const configKey = rule(
  '[-._a-zA-Z0-9]+',
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  ['key.name', 'KEY_NAME', 'key-name'],
  { max: 253 },
)
export const configMapKey = (text: string): string[] => [...configKey(text), ...dotPath(text)]

const dotPath = (text: string): string[] => {
  if (text === '.') return ["must not be '.'"]
  if (text === '..') return ["must not be '..'"]
  return text.startsWith('..') ? ["must not start with '..'"] : []
}

/** Any printable ASCII but `=`. */
export const relaxedEnvVarName = (text: string): string[] =>
  text.length > 0 && /^[\x20-\x3c\x3e-\x7e]+$/.test(text)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"]

const envName = rule(
  '[-._a-zA-Z][-._a-zA-Z0-9]*',
  "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit",
  ['my.env-name', 'MY_ENV.NAME', 'MyEnvName1'],
)
export const envVarName = (text: string): string[] => [...envName(text), ...dotPath(text)]

export const cIdentifier = rule(
  '[A-Za-z_][A-Za-z0-9_]*',
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
  ['my_name', 'MY_NAME', 'MyName'],
)

export const httpHeaderName = rule(
  '[-A-Za-z0-9]+',
  "a valid HTTP header must consist of alphanumeric characters or '-'",
  ['X-Header-Name'],
)

export const portNumber = (port: number): string[] =>
  port >= 1 && port <= 65535 ? [] : ['must be between 1 and 65535, inclusive']

/** IANA service names. */
export function portName(text: string): string[] {
  const messages: string[] = []
  if (text.length > 15) messages.push(maxLength(15))
  if (!/^[-a-z0-9]+$/.test(text))
    messages.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)')
  if (!/[a-z]/.test(text)) messages.push('must contain at least one letter (a-z)')
  if (text.includes('--')) messages.push('must not contain consecutive hyphens')
  if (text.startsWith('-') || text.endsWith('-')) messages.push('must not begin or end with a hyphen')
  return messages
}

/** Kubernetes' own finalizers; others must name a domain. */
const standardFinalizers = new Set(['kubernetes', 'orphan', 'foregroundDeletion'])
export const NOT_QUALIFIED_FINALIZER = 'name is neither a standard finalizer name nor is it fully qualified'
export const isQualifiedFinalizer = (text: string): boolean => text.includes('/') || standardFinalizers.has(text)

/**
 * Returns a prefix of generated names in a form that ends validly: a trailing dash is no error, because the generated
 * suffix still follows.
 */
export const maskTrailingDash = (prefix: string): string => {
  if (!prefix.endsWith('-')) return prefix
  return `${prefix.slice(0, -2)}a`
}

const DOMAIN_PATH_HINT = 'must be a domain-prefixed path (such as "acme.io/foo")'
/**
 * Returns which part of a domain-prefixed path is wrong, and why. `example.com/name` is one, the form of names of
 * controllers.
 */
export function domainPrefixedPath(text: string): { value: string; message: string }[] {
  const slash = text.indexOf('/')
  const [domain, path] = slash === -1 ? [text, ''] : [text.slice(0, slash), text.slice(slash + 1)]
  if (slash === -1 || domain === '' || path === '') return [{ value: text, message: DOMAIN_PATH_HINT }]
  const problems = dns1123Subdomain(domain).map((message) => ({ value: domain, message }))
  const message = `Invalid path (regex used for validation is '${HTTP_PATH}')`
  return httpPath.test(path) ? problems : [...problems, { value: path, message }]
}

export const conditionReason = rule(
  '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?',
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  ['my_name', 'MY_NAME', 'MyName', 'ReasonA,ReasonB', 'ReasonA:ReasonB'],
)
