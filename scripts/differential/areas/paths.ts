/** Odd paths, methods, query parameters and headers. */
import type { Random } from '../../../test/fuzz/random.ts'
import type { Case, Step } from '../case.ts'
import { accepts, patchTypes, protobuf, query } from '../steps.ts'

const methods = ['GET', 'GET', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE'] as const

// biome-ignore format: a table
const paths = [
  '/api', '/api/', '/api/v1', '/api/v1/', '/api/v2', '/api/v1/x', '/apis', '/apis/', '/apis/apps', '/apis/apps/',
  '/apis/apps/v1', '/apis/apps/v1/', '/apis/apps/v2', '/apis/x', '/apis/x/v1', '/apis/x/v1/y', '/apis/apps/v1/x',
  '/version', '/version/', '/healthz', '/healthz/', '/healthz/ping', '/healthz/x', '/healthz/etcd', '/livez', '/livez/ping',
  '/livez/x', '/readyz', '/readyz/ping', '/readyz/', '/readyz/x', '/openapi', '/openapi/', '/openapi/v2/', '/openapi/v3/',
  '/openapi/v3/x', '/openapi/v4', '/openapi/v3/apis/x/v1', '/.well-known/openid-configuration', '/.well-known', '/openid/v1',
  '/openid', '/logs', '/logs/', '/debug', '/debug/x', '/x', '/x/y', '//', '//api', '/api//v1', '/./api', '/api/../api',
  '/api/v1/namespaces/{{name}}', '/api/v1/namespaces/{{name}}/', '/api/v1/namespaces/{{name}}/pods',
  '/api/v1/namespaces/{{name}}/pods/', '/api/v1/namespaces/{{name}}/pods/a', '/api/v1/namespaces/{{name}}/pods/a/',
  '/api/v1/namespaces/{{name}}/pods/a/status', '/api/v1/namespaces/{{name}}/pods/a/x', '/api/v1/namespaces/{{name}}/pods/a/status/x',
  '/api/v1/namespaces/{{name}}/x', '/api/v1/namespaces/{{name}}/x/y', '/api/v1/namespaces/{{name}}/nodes',
  '/api/v1/namespaces/{{name}}/nodes/a', '/api/v1/pods/a', '/api/v1/nodes/x', '/api/v1/nodes/x/status', '/api/v1/nodes/x/proxy',
  '/api/v1/nodes/x/proxy/', '/api/v1/nodes/x/y', '/api/v1/namespaces/{{name}}/pods/A', '/api/v1/namespaces/{{name}}/pods/a%2Fb',
  '/api/v1/namespaces/{{name}}/pods/%20', '/api/v1/namespaces/{{name}}/pods/..', '/api/v1/namespaces/{{name}}/pods/%2e%2e',
  '/api/v1/namespaces/{{name}}/pods/.', '/api/v1/namespaces//pods/a', '/api/v1/namespaces/%2F/pods', '/api/v1/namespaces/A/pods',
  '/api/v1/namespaces/x/configmaps/y', '/api/v1/namespaces/{{name}}/status', '/api/v1/namespaces/{{name}}/finalize',
  '/api/v1/namespaces/x/status', '/api/v1/watch', '/api/v1/watch/', '/api/v1/watch/x', '/api/v1/proxy', '/api/v1/proxy/nodes/x',
  '/api/v1/redirect/nodes/x', '/api/v1/componentstatuses/x', '/api/v1/bindings', '/api/v1/namespaces/{{name}}/bindings',
  '/apis/apps/v1/namespaces/{{name}}/deployments', '/apis/apps/v1/namespaces/{{name}}/deployments/a/scale',
  '/apis/apps/v1/namespaces/{{name}}/deployments/a/scale/x', '/apis/apps/v1beta1/namespaces/{{name}}/deployments',
  '/apis/extensions/v1beta1/namespaces/{{name}}/ingresses', '/apis/policy/v1beta1/namespaces/{{name}}/poddisruptionbudgets',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles/x', '/apis/rbac.authorization.k8s.io/v1/namespaces/{{name}}/clusterroles',
  '/apis/authorization.k8s.io/v1/subjectaccessreviews', '/apis/authorization.k8s.io/v1/namespaces/{{name}}/localsubjectaccessreviews',
  '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', '/apis/authentication.k8s.io/v1/tokenreviews',
  '/apis/authentication.k8s.io/v1/selfsubjectreviews', 
  '/apis/apiregistration.k8s.io/v1/apiservices/x', '/apis/apiregistration.k8s.io/v1/apiservices/v1.apps/status',
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/x', '/apis/storage.k8s.io/v1/storageclasses/x',
  '/apis/events.k8s.io/v1/namespaces/{{name}}/events', '/apis/certificates.k8s.io/v1/certificatesigningrequests/x/approval',
  '/apis/batch/v1/namespaces/{{name}}/jobs/x', '/apis/batch/v1/jobs/x', '/apis/autoscaling/v1', '/apis/autoscaling/v2',
  '/api/v1/namespaces/{{name}}/services/a/proxy', '/api/v1/namespaces/{{name}}/services/a:b/proxy/c', '/api/v1/namespaces/{{name}}/services/x:80/proxy/',
  '/api/v1/namespaces/{{name}}/pods/a/proxy/x', '/api/v1/namespaces/{{name}}/pods/a/log', '/api/v1/namespaces/{{name}}/pods/a/exec',
  '/metrics/x', '/statusz/x', '/configz', '/flagz/x', '/ui', '/swagger.json', '/swagger-ui', '/index.htm', '/favicon.ico', '/robots.txt',
]

const parameters = {
  watch: ['true', 'x'],
  labelSelector: ['a=1', 'a=('],
  fieldSelector: ['metadata.name=a', 'x'],
  limit: ['1', 'x'],
  resourceVersion: ['0', 'x'],
  dryRun: ['All', 'x'],
  fieldManager: ['f'],
  fieldValidation: ['Strict', 'x'],
  pretty: ['1', 'x'],
  timeout: ['1s', 'x', '0', '-1s', '1'],
  timeoutSeconds: ['1', 'x'],
  verbose: ['true'],
  exclude: ['x'],
  gracePeriodSeconds: ['x', '1'],
  '': ['', 'x'],
  'a b': ['%'],
}

// biome-ignore format: a table
const moreAccepts = [
  ...accepts, '*/*', 'application/*', 'text/*', 'text/html', 'text/plain', 'application/yaml', 'application/xml', 'x', '',
  'application/json;as=Table;v=v1beta1;g=meta.k8s.io', 'application/json;as=Table;v=v2;g=meta.k8s.io', 'application/json;as=Table',
  'application/json;as=X;v=v1;g=meta.k8s.io', 'application/json;q=0.5,application/yaml', 'application/json;stream=watch',
  `${protobuf};as=Table;v=v1;g=meta.k8s.io`, `${protobuf};as=PartialObjectMetadata;v=v1;g=meta.k8s.io`, `${protobuf};stream=watch`,
  'application/yaml;as=Table;v=v1;g=meta.k8s.io', 'application/cbor', 'application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io',
  'application/json;profile=nopeer;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io',
  'application/json;as=APIGroupDiscoveryList;v=v3;g=apidiscovery.k8s.io', 'application/json; charset=utf-8', 'image/png,*/*;q=0.1',
]

const bodies: readonly Pick<Step, 'body' | 'raw' | 'type'>[] = [
  {},
  {},
  { body: {} },
  { body: null },
  { body: [] },
  { body: { metadata: { name: 'a' } } },
  { body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } } },
  {
    body: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
  { body: { apiVersion: 'v1', kind: 'List', items: [] } },
  { body: { apiVersion: 'meta.k8s.io/v1', kind: 'DeleteOptions' } },
  { body: { apiVersion: 'x', kind: 'Y' } },
  { body: { apiVersion: 1, kind: 'Y' } },
  { raw: '' },
  { raw: '{' },
  { raw: '{}{}' },
  { raw: ' {} ' },
  { raw: '{"a":1,}' },
  { raw: '\ufeff{}' },
  { raw: '{"metadata":{"name":"a","name":"b"}}' },
  { raw: 'metadata:\n  name: a\n', type: 'application/yaml' },
  { raw: 'a: b: c', type: 'application/yaml' },
  { raw: '- a', type: 'application/yaml' },
  { raw: 'x', type: protobuf },
  { raw: '{}', type: 'text/plain' },
  { raw: '{}', type: 'application/json; charset=utf-8' },
  { raw: '{}', type: 'application/json;charset=latin1' },
  { raw: '{}', type: '' },
  { raw: '{}', type: 'application/cbor' },
  ...Object.values(patchTypes).flatMap((type) => [
    { body: {}, type },
    { body: [], type },
    { raw: '[{"op":"add"}]', type },
    { raw: 'x', type },
  ]),
]

const isRead = (method: string): boolean => ['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(method)

export function makePaths(random: Random): Case {
  const steps: Step[] = []
  for (let more = 4; more > 0; more--) {
    const method = random.pick(methods)
    const path = `${random.pick(paths)}${query(random, parameters, 2)}`
    const accept = random.pick(moreAccepts)
    const step = { method, path, ...(accept !== undefined && { accept }) }
    const watches = /[?&]watch=true|\/watch\//.test(path)
    // A stream has no end that can be waited for.
    if (watches && isRead(method)) continue
    steps.push(isRead(method) ? step : { ...step, ...random.pick(bodies) })
  }
  return { kind: 'paths', operation: 'paths', what: `${steps.length} requests`, steps }
}
