/** Holds the headers of a request that are checked before anything else. */
export interface Asked {
  host: string | undefined
  origin: string | undefined
}

/**
 * Says why a request is refused; undefined for a request that is allowed. A page of another site that gets its name
 * resolved to this address (DNS rebinding) sends its own name as Host; a page of another origin sends that origin.
 */
export function refusal({ host, origin }: Asked, isOwnName: (name: string) => boolean): string | undefined {
  const name = nameOf(`http://${host ?? ''}`)
  if (name === undefined || !isOwnName(name))
    return 'The page is not served under this name. Open the address that kubestage ui prints.'
  // The port counts as well: another program may serve pages at another port of this machine.
  if (origin === undefined || origin === `https://${host}` || origin === `http://${host}`) return undefined
  return 'A page of another origin may not use this one.'
}

/** Returns the name without port and brackets. */
function nameOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { hostname, username, pathname } = new URL(url)
  return username === '' && pathname === '/' && hostname !== '' ? hostname.replace(/^\[|\]$/g, '') : undefined
}

/** Returns whether the name is a name of a loopback address. */
export const isLoopback = (name: string): boolean => ['localhost', '127.0.0.1', '::1'].includes(name)

/** Returns the cookies whose names begin with `prefix`, by name. */
export function cookies(header: string | undefined, prefix: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const part of (header ?? '').slice(0, 16_384).split(';')) {
    const [name = '', value = ''] = part.trim().split('=', 2)
    if (name.startsWith(prefix)) found.set(name, value)
  }
  return found
}
