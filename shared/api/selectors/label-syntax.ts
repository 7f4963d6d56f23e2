/** These functions say what label keys and values may look like, with upstream's messages for what is wrong. */

const namePattern = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/
const subdomainPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const alphanumeric =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

/** Messages for a key such as `app` or `example.com/app`; empty when it is one. */
export function labelKeyMessages(key: string): string[] {
  const parts = key.split('/')
  if (parts.length > 2) {
    return [
      `a valid label key ${alphanumeric} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ]
  }
  const name = parts.at(-1)!
  return [...(parts.length === 2 ? prefixMessages(parts[0]!) : []), ...nameMessages(name)]
}

/** Returns what is wrong with a name that must be a DNS subdomain, as most names of objects must. */
export function subdomainMessages(name: string): string[] {
  const messages: string[] = []
  if (name.length > 253) messages.push('must be no more than 253 characters')
  if (!subdomainPattern.test(name)) messages.push(subdomain)
  return messages
}

function prefixMessages(prefix: string): string[] {
  if (prefix === '') return ['prefix part must be non-empty']
  const messages: string[] = []
  if (prefix.length > 253) messages.push('prefix part must be no more than 253 characters')
  if (!subdomainPattern.test(prefix)) messages.push(`prefix part ${subdomain}`)
  return messages
}

function nameMessages(name: string): string[] {
  const messages: string[] = []
  if (name === '') messages.push('name part must be non-empty')
  else if (name.length > 63) messages.push('name part must be no more than 63 bytes')
  if (!namePattern.test(name)) messages.push(`name part ${alphanumeric}`)
  return messages
}

const encoder = new TextEncoder()

/** Browsers read this file, too, and have no Buffer. One unit of UTF-16 is at most three bytes of UTF-8. */
const isLong = (value: string): boolean => value.length > 63 || (value.length > 21 && encoder.encode(value).length > 63)

export function labelValueMessages(value: string): string[] {
  const messages: string[] = []
  if (isLong(value)) messages.push('must be no more than 63 bytes')
  if (value !== '' && !namePattern.test(value)) {
    messages.push(
      "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    )
  }
  return messages
}
