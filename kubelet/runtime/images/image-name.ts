import { ImageError } from '../container-runtime.ts'

/** An image's name taken apart, as container registries' clients do: `nginx` is `docker.io/library/nginx:latest`. */
export interface ImageName {
  domain: string
  /** `library/nginx` */
  repository: string
  tag?: string
  digest?: string
}

const component = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*'
const repositoryPattern = new RegExp(`^${component}(?:/${component})*$`)
const tagPattern = /^\w[\w.-]{0,127}$/
const digestPattern = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/
const domainPattern =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])(?::\d+)?$/
const dockerHub = 'docker.io'

/** Parses the name of an image. Throws an {@link ImageError} InvalidImageName with the kubelet's message. */
export function parseImageName(image: string): ImageName {
  const fail = (why: string): never => {
    throw new ImageError(
      'InvalidImageName',
      `Failed to apply default image tag "${image}": couldn't parse image name "${image}": ${why}`,
    )
  }
  const [named = '', digest, ...more] = image.split('@')
  if (more.length > 0 || named === '') fail('invalid reference format')
  const slash = named.indexOf('/')
  const first = slash === -1 ? '' : named.slice(0, slash)
  const isDomain = first !== '' && (/[.:]/.test(first) || first === 'localhost' || first.toLowerCase() !== first)
  const domain = isDomain ? first : dockerHub
  const remainder = isDomain ? named.slice(slash + 1) : named
  const colon = remainder.indexOf(':')
  const path = colon === -1 ? remainder : remainder.slice(0, colon)
  const tag = colon === -1 ? undefined : remainder.slice(colon + 1)
  const repository = domain === dockerHub && !path.includes('/') ? `library/${path}` : path
  if (repository !== repository.toLowerCase()) {
    fail(`invalid reference format: repository name (${repository}) must be lowercase`)
  }
  const valid =
    repositoryPattern.test(repository) &&
    domainPattern.test(domain) &&
    (tag === undefined || tagPattern.test(tag)) &&
    (digest === undefined || digestPattern.test(digest))
  if (!valid) fail('invalid reference format')
  return { domain, repository, tag, digest }
}

/**
 * The ways in which people write this name, so that a pattern in any of them meets it: with tag, with and without
 * registry.
 */
export function spellings({ domain, repository, tag = 'latest', digest }: ImageName): string[] {
  const short = domain === dockerHub ? [repository.replace(/^library\//, ''), repository] : []
  const names = [...short, `${domain}/${repository}`]
  return names.flatMap((name) => (digest ? [`${name}@${digest}`, name] : [`${name}:${tag}`]))
}
