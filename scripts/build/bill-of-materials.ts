import { readFileSync } from 'node:fs'

interface Locked {
  version: string
  name?: string
  license?: string
  integrity?: string
  dev?: boolean
  devOptional?: boolean
  optional?: boolean
  link?: boolean
}

/**
 * The packages that run on a user's machine, bundled or not, as a CycloneDX 1.6 document: all of package-lock.json that
 * no tool of development alone needs. `npm sbom` leaves out packages that such a tool needs as well.
 */
export function billOfMaterials(): string {
  const { name, version, packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const components = Object.entries(packages as Record<string, Locked>)
    .filter(([path, locked]) => path.includes('node_modules/') && !locked.dev && !locked.devOptional && !locked.link)
    .map(([path, locked]) => component(path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length), locked))
  return JSON.stringify({
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: { type: 'application', 'bom-ref': purl(name, version), name, version, purl: purl(name, version) },
    },
    components: [...new Map(components.map((part) => [part['bom-ref'], part])).values()],
  })
}

function component(installedAs: string, { name = installedAs, version, license, integrity, optional }: Locked) {
  const [algorithm = '', hash = ''] = integrity?.split(/-(.*)/s) ?? []
  return {
    type: 'library',
    'bom-ref': purl(name, version),
    name,
    version,
    scope: optional ? 'optional' : 'required',
    purl: purl(name, version),
    ...(license && { licenses: [{ expression: license }] }),
    ...(integrity && {
      hashes: [{ alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(hash, 'base64').toString('hex') }],
    }),
  }
}

const purl = (name: string, version: string): string => `pkg:npm/${name.replace('@', '%40')}@${version}`
