/**
 * Maintainer's tool: reads the facts that a schema document does not hold out of the API's Go packages
 * (order of fields, Go names, pointers, omitempty, embedding) and writes them as `input/go-types.json`.
 *
 *     node openapi/read-go-types.ts <checkout of kubernetes/api> <checkout of kubernetes/apimachinery> [<further checkouts>]
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * [JSON name or '' when embedded, Go name, shape, Go type as the decoder's errors print it, 'o' omitempty | 'z'
 * omitzero | '']
 */
type GoField = [json: string, go: string, shape: string, type: string, omit: '' | 'o' | 'z']

/** Holds the place of a Go package, and the prefix of its types in OpenAPI names. */
interface Package {
  directory: string
  name: string
  prefix: string
}

/** Types with a JSON form of their own, by package path and name. */
const ownForms: Record<string, string> = {
  'k8s.io/apimachinery/pkg/apis/meta/v1.Time': 'Time',
  'k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime': 'MicroTime',
  'k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1': 'raw',
  'k8s.io/apimachinery/pkg/apis/meta/v1.Duration': 'string',
  'k8s.io/apimachinery/pkg/api/resource.Quantity': 'Quantity',
  'k8s.io/apimachinery/pkg/util/intstr.IntOrString': 'IntOrString',
  'k8s.io/apimachinery/pkg/runtime.RawExtension': 'raw',
  'k8s.io/apimachinery/pkg/runtime.Object': 'raw',
  'k8s.io/apimachinery/pkg/types.UID': 'string',
  'k8s.io/apimachinery/pkg/types.NodeName': 'string',
}
/** Unions of the CRD schema language: a JSON value of several forms. */
const unions: Record<string, string> = {
  JSON: 'raw',
  JSONSchemaPropsOrArray: 'schemaOrArray',
  JSONSchemaPropsOrBool: 'schemaOrBool',
  JSONSchemaPropsOrStringArray: 'schemaOrStrings',
}
const scalars = new Set([
  'string',
  'bool',
  'int32',
  'int64',
  'int',
  'uint32',
  'uint64',
  'float64',
  'interface{}',
  'any',
])

const [apiRoot, machineryRoot, ...otherRoots] = process.argv.slice(2)
if (!apiRoot || !machineryRoot)
  throw new Error('usage: read-go-types.ts <kubernetes/api> <kubernetes/apimachinery> [<more>]')

const packages = new Map<string, Package>()
const addPackage = (path: string, pkg: Package) => {
  if (existsSync(pkg.directory)) packages.set(path, pkg)
}
for (const group of readdirSync(apiRoot, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
  for (const version of readdirSync(join(apiRoot, group.name)).filter((name) => /^v\d/.test(name))) {
    addPackage(`k8s.io/api/${group.name}/${version}`, {
      directory: join(apiRoot, group.name, version),
      name: version,
      prefix: `io.k8s.api.${group.name}.${version}`,
    })
  }
}
addPackage('k8s.io/apimachinery/pkg/apis/meta/v1', {
  directory: join(machineryRoot, 'pkg/apis/meta/v1'),
  name: 'v1',
  prefix: 'io.k8s.apimachinery.pkg.apis.meta.v1',
})
for (const root of otherRoots) {
  for (const [path, prefix] of [
    ['pkg/apis/apiextensions/v1', 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1'],
    ['pkg/apis/apiregistration/v1', 'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1'],
  ] as const) {
    addPackage(`${root}/${path}`, { directory: join(root, path), name: 'v1', prefix })
  }
}

interface Declaration {
  path: string
  imports: Map<string, string>
  /** Body of a struct, or the type it is defined as. */
  body: string
  struct: boolean
}
const declarations = new Map<string, Declaration>()
for (const [path, pkg] of packages) {
  for (const file of readdirSync(pkg.directory).filter((name) =>
    /^types.*\.go$|^meta\.go$|^group_version\.go$/.test(name),
  )) {
    const source = readFileSync(join(pkg.directory, file), 'utf8').replaceAll(/\/\/.*$/gm, '')
    const imports = new Map<string, string>()
    for (const [, alias, target] of source.matchAll(/^(?:import)?\s+(?:(\w+) )?"([\w./-]+)"\s*$/gm)) {
      imports.set(alias ?? target!.split('/').at(-1)!, target!)
    }
    for (const [, name, body] of source.matchAll(/^type (\w+) struct \{\n(.*?)^\}/gms)) {
      declarations.set(`${path}.${name}`, { path, imports, body: body!, struct: true })
    }
    for (const [, name, body] of source.matchAll(/^type (\w+) (?:= )?([\w.[\]*{}]+)\s*$/gm)) {
      const isEmpty = body === 'struct{}'
      declarations.set(`${path}.${name}`, { path, imports, body: isEmpty ? '' : body!, struct: isEmpty })
    }
  }
}

const qualify = (type: string, at: Declaration): string => {
  const [alias, name] = type.split('.')
  if (name === undefined) return `${at.path}.${type}`
  return `${at.imports.get(alias!) ?? alias}.${name}`
}

/** The shape: `*` pointer, `[]` list, `{}` map, then a scalar, a form of its own, or `@` and the OpenAPI name. */
function shapeOf(type: string, at: Declaration): string {
  if (type === '[]byte') return 'bytes'
  if (type.startsWith('*')) return `*${shapeOf(type.slice(1), at)}`
  if (type.startsWith('[]')) return `[]${shapeOf(type.slice(2), at)}`
  const map = /^map\[[\w.]+\](.+)$/.exec(type)
  if (map) return `{}${shapeOf(map[1]!, at)}`
  if (type === 'interface{}' || type === 'any' || type === 'struct{}') return 'raw'
  if (scalars.has(type)) return type
  const qualified = qualify(type, at)
  const own = ownForms[qualified]
  if (own) return own
  const union = unions[type]
  if (union) return union
  const declared = declarations.get(qualified)
  if (!declared) throw new Error(`unknown type ${qualified}`)
  if (!declared.struct) return shapeOf(declared.body, declared)
  return `@${packages.get(declared.path)!.prefix}.${qualified.split('.').at(-1)}`
}

/** The type as Go's reflection prints it: package name, then type name. */
function printedType(type: string, at: Declaration): string {
  if (type.startsWith('[]')) return `[]${type === '[]byte' ? 'uint8' : printedType(type.slice(2), at)}`
  if (type.startsWith('*')) return printedType(type.slice(1), at)
  const map = /^map\[([\w.]+)\](.+)$/.exec(type)
  if (map) return `map[${printedType(map[1]!, at)}]${printedType(map[2]!, at)}`
  if (scalars.has(type)) return type
  const qualified = qualify(type, at)
  return `${qualified.slice(0, qualified.lastIndexOf('.')).split('/').at(-1)}.${qualified.split('.').at(-1)}`
}

const structs = new Map<string, Declaration>()
for (const [qualified, declaration] of declarations) {
  if (declaration.struct)
    structs.set(`${packages.get(declaration.path)!.prefix}.${qualified.split('.').at(-1)}`, declaration)
}

function fieldsOf(declaration: Declaration): GoField[] {
  const fields: GoField[] = []
  for (const line of declaration.body.split('\n')) {
    const match = /^\s*(?:(\w+)\s+)?([\w.[\]*{}]+)\s+`json:"([^"]*)"/.exec(line)
    if (!match) continue
    const [, name, type, tag] = match
    const [json, ...options] = tag!.split(',')
    if (json === '-') continue
    const omit = options.includes('omitzero') ? 'z' : options.includes('omitempty') ? 'o' : ''
    const embedded = json === ''
    fields.push([
      json!,
      name ?? type!.split('.').at(-1)!,
      shapeOf(type!, declaration),
      embedded ? '' : printedType(type!, declaration),
      omit,
    ])
  }
  return fields
}

/** Holds only what the schemas reach. */
const schemas: Record<string, unknown> = JSON.parse(
  readFileSync(new URL('input/schemas.json', import.meta.url), 'utf8'),
)
const types = new Map<string, GoField[]>()
const reach = (name: string) => {
  const declaration = structs.get(name)
  if (types.has(name) || !declaration) return
  const fields = fieldsOf(declaration)
  types.set(name, fields)
  for (const [, , shape] of fields) {
    const target = shape.split('@')[1]
    if (target) reach(target)
  }
}
for (const name of Object.keys(schemas)) reach(name)
const lines = [...types.keys()].sort().map((name) => `${JSON.stringify(name)}:${JSON.stringify(types.get(name))}`)
writeFileSync(new URL('input/go-types.json', import.meta.url), `{\n${lines.join(',\n')}\n}\n`)
const missing = Object.keys(schemas).filter((name) => !types.has(name))
console.log(`${types.size} types; without Go facts: ${missing.join(' ')}`)
