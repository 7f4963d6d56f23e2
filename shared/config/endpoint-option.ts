import { type OptionType, option } from './option.ts'
import { mustBe, text } from './option-types.ts'

const defaultPort = 6443

/** `https://host:port` of `HOST[:PORT]`. */
function urlOf(value: unknown): string {
  if (value === '') return ''
  const url = typeof value === 'string' && !value.includes('/') ? URL.parse(`https://${value}`) : undefined
  if (!url?.hostname || url.username || url.pathname !== '/' || url.search || url.hash)
    throw mustBe('HOST or HOST:PORT', value)
  return `https://${url.hostname}:${portIn(value as string) ?? defaultPort}`
}

/** A URL does not tell its default port from none. */
const portIn = (place: string): string | undefined => /:(\d+)$/.exec(place.replace(/^\[.*\]/, ''))?.[1]

const endpoint: OptionType<string> = { ...text, placeholder: 'HOST[:PORT]', fromText: urlOf, fromFile: urlOf }

/** Names the option as kubeadm does. Its value is a URL, or empty. */
export const controlPlaneEndpointOption = option(endpoint, {
  default: '',
  help: "Stable address of all API servers, such as a balancer's, for machines that join",
})

/** Returns the endpoint's host name or address, for the certificate of the API server. */
export const endpointHosts = (url: string): string[] => (url ? [new URL(url).hostname.replace(/^\[|\]$/g, '')] : [])
