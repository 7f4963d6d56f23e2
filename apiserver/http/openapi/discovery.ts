/** Operations of paths that belong to no resource: discovery, version, keys of service accounts. */
import { encodings, groupPrefix, groupTag, idPart, META, type Operation, TEXT, versionTag } from './operations.ts'

interface Described {
  path: string
  id: string
  tag: string
  description: string
  answer: string
  /** Lists the media types; by default json, yaml and protobuf. */
  produces?: string[]
}

const get = ({ answer, produces = encodings, ...rest }: Described): Operation => ({
  method: 'get',
  parameters: [],
  consumes: produces,
  produces,
  answers: { 200: answer },
  ...rest,
})
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Maps the path of a document to its operation. */
export const fixedOperations: Record<string, Operation> = {
  '.well-known/openid-configuration': get({
    path: '/.well-known/openid-configuration/',
    id: 'getServiceAccountIssuerOpenIDConfiguration',
    tag: 'WellKnown',
    description: "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
    answer: TEXT,
    produces: ['application/json'],
  }),
  api: get({
    path: '/api/',
    id: 'getCoreAPIVersions',
    tag: 'core',
    description: 'get available API versions',
    answer: `${META}.APIVersions`,
  }),
  apis: get({
    path: '/apis/',
    id: 'getAPIVersions',
    tag: 'apis',
    description: 'get available API versions',
    answer: `${META}.APIGroupList`,
  }),
  'openid/v1/jwks': get({
    path: '/openid/v1/jwks/',
    id: 'getServiceAccountIssuerOpenIDKeyset',
    tag: 'openid',
    description: 'get service account issuer OpenID JSON Web Key Set (contains public token verification keys)',
    answer: TEXT,
    produces: ['application/jwk-set+json'],
  }),
  version: get({
    path: '/version/',
    id: 'getCodeVersion',
    tag: 'version',
    description: 'get the version information for this server',
    answer: 'io.k8s.apimachinery.pkg.version.Info',
    produces: ['application/json'],
  }),
}

export const groupOperation = (group: string): Operation =>
  get({
    path: `${groupPrefix(group)}/`,
    id: `get${capital(groupTag(group))}APIGroup`,
    tag: groupTag(group),
    description: 'get information of a group',
    answer: `${META}.APIGroup`,
  })

export const versionOperation = (group: string, version: string): Operation =>
  get({
    path: `${groupPrefix(group)}/${version}/`,
    id: `get${idPart(group, version)}APIResources`,
    tag: versionTag(group, version),
    description: 'get available resources',
    answer: `${META}.APIResourceList`,
  })
