import { isLoopback } from '../../../shared/client/loopback.ts'

/** Says how registries are reached. It is plain data: a thread that pulls gets a copy. */
export interface RegistrySettings {
  /** Maps a registry, such as `docker.io`, to the URL that is asked first. */
  mirrors: Record<string, string>
  /** Names registries, with their port, whose certificate is not verified, or that speak plain HTTP. */
  insecure: string[]
  proxies: Proxies
}

/** Holds what the variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY say; empty where nothing is said. */
export interface Proxies {
  http: string
  https: string
  none: string
}

/** An address at which a registry, or a mirror of it, is asked. */
export interface Endpoint {
  /** Ends without a slash. */
  url: string
  verifiesCertificate: boolean
  /** Plain HTTP is tried where the registry speaks no TLS. */
  fallback?: string
  isMirror: boolean
}

const dockerHub = 'docker.io'

/**
 * Lists where an image's registry is asked, in order. As containerd does, a registry on this machine is asked by TLS,
 * whose certificate is not verified, and by plain HTTP if it has none.
 */
export function endpointsOf(domain: string, { mirrors, insecure }: RegistrySettings): Endpoint[] {
  const mirror = mirrors[domain]
  const host = domain === dockerHub ? 'registry-1.docker.io' : domain
  const isInsecure = (name: string): boolean => insecure.includes(name)
  const isLocal = isLoopback(new URL(`http://${host}`).hostname)
  const isPlain = isLocal && host.endsWith(':80')
  const isLoose = isInsecure(domain) || isLocal
  const own: Endpoint = {
    url: `${isPlain ? 'http' : 'https'}://${host}`,
    verifiesCertificate: !isLoose,
    ...(isLoose && !isPlain && (!isLocal || /:\d+(?<!:443)$/.test(host)) && { fallback: `http://${host}` }),
    isMirror: false,
  }
  if (!mirror) return [own]
  const url = mirror.replace(/\/+$/, '')
  return [{ url, verifiesCertificate: !isInsecure(new URL(url).host), isMirror: true }, own]
}
