import { controllers } from '../shared/config/controller-names.ts'
import { controlPlaneEndpointOption } from '../shared/config/endpoint-option.ts'
import { featureGatesOption } from '../shared/config/feature-gates.ts'
import { loopOptions } from '../shared/config/loop-options.ts'
import { type OptionType, option } from '../shared/config/option.ts'
import {
  cidr,
  duration,
  mustBe,
  names,
  oneOf,
  orNone,
  path,
  patterns,
  port,
  text,
  texts,
} from '../shared/config/option-types.ts'
import { timeScaleOption } from '../shared/config/time-options.ts'
import { levels } from '../shared/log/levels.ts'
import { auditOptions } from './audit/options.ts'
import { http2Choices } from './config.ts'
import { limitOptions } from './http/limits/limits.ts'
import { etcdOptions } from './storage/etcd-options.ts'
import { storageOption } from './storage/open-storage.ts'

const kubernetesVersion: OptionType<string> = {
  ...text,
  placeholder: 'VERSION',
  fromText: checkVersion,
  fromFile: checkVersion,
}

function checkVersion(value: unknown): string {
  if (typeof value === 'string' && /^v1\.\d+\.\d+$/.test(value)) return value
  throw mustBe('a version such as v1.36.3', value)
}

/** The engine of the storage decides. */
const byStorage = -1

/** Shared by everything that starts an API server. */
export const apiServerOptions = {
  host: option(text, { default: '127.0.0.1', help: 'Address to listen on' }),
  port: option(port, { default: 6443, help: 'Port to listen on; 0 takes a free one' }),
  http2: option(oneOf(...http2Choices), {
    default: 'own',
    help: "What serves HTTP/2: Kubestage's own implementation, or Node's (node:http2), which is slower",
  }),
  tlsSan: option(names, { default: [], help: 'More names and addresses that clients reach it by; repeatable' }),
  controlPlaneEndpoint: controlPlaneEndpointOption,
  serviceCidr: option(cidr, { default: '10.96.0.0/16', help: 'Range of cluster IPs' }),
  serviceAccountIssuer: option(
    { ...text, placeholder: 'URL' },
    {
      default: '',
      help: "Issuer of ServiceAccount tokens; by default the server's URL, or the Service's where pods reach that alone",
    },
  ),
  kubernetesVersion: option(kubernetesVersion, {
    default: 'v1.36.3',
    help: 'What /version announces; everything else is as in v1.36.3',
  }),
  plugin: option(
    { ...texts, placeholder: 'FILE|PACKAGE' },
    { default: [], help: 'Fastify plugin whose routes and hooks the API server gets (docs/plugins.md); repeatable' },
  ),
  storage: storageOption,
  ...etcdOptions,
  controllers: option(controllers, {
    default: ['*'],
    help: "Control loops to run: '*' for all, '-*' for none, 'NAME', '-NAME' to leave one out; repeatable",
  }),
  featureGates: featureGatesOption,
  corsAllowedOrigins: option(patterns, {
    default: [],
    help: 'Origins of web pages that may use the API, as regular expressions; repeatable',
  }),
  kubeletCertificateAuthority: option(path, {
    default: '',
    help: "PEM file of the CA that kubelets' serving certificates must come from; without it they are not verified",
  }),
  ...limitOptions,
  ...auditOptions,
  terminationTtl: option(
    { ...duration, show: (ms) => (ms === byStorage ? undefined : duration.show?.(ms)) },
    {
      default: byStorage,
      help: 'How long the records of terminations are kept (default: 1h; in a file or etcd 7 days)',
    },
  ),
  ...loopOptions,
  clusterCidr: option(orNone(cidr), {
    default: '',
    help: 'Range out of which each node gets 256 addresses for its pods (default: none; with --network pod one that is free)',
  }),
  timeScale: timeScaleOption,
  logLevel: option(oneOf(...levels), { default: 'info', help: 'How much to log' }),
}
