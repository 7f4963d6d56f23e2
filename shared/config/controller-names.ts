import type { OptionType } from './option.ts'
import { EntryError, mustBe, names, suggestion } from './option-types.ts'

/** The loops that may be left out, by upstream's names. Those that belong to an API server itself always run. */
export const controllerNames = [
  'bootstrap-signer-controller',
  'certificatesigningrequest-controller',
  'clusterrole-aggregation-controller',
  'cronjob-controller',
  'daemonset-controller',
  'deployment-controller',
  'disruption-controller',
  'endpoints-controller',
  'endpointslice-controller',
  'endpointslice-mirroring-controller',
  'ephemeral-volume-controller',
  'garbage-collector-controller',
  'horizontal-pod-autoscaler-controller',
  'job-controller',
  'namespace-controller',
  'node-ipam-controller',
  'node-lifecycle-controller',
  'persistentvolume-binder-controller',
  'persistentvolume-protection-controller',
  'pod-garbage-collector-controller',
  'replicaset-controller',
  'replicationcontroller-controller',
  'resourcequota-controller',
  'root-ca-certificate-publisher-controller',
  'service-lb-controller',
  'serviceaccount-controller',
  'serviceaccount-token-controller',
  'statefulset-controller',
  'taint-eviction-controller',
  'token-cleaner-controller',
  'ttl-after-finished-controller',
  'validatingadmissionpolicy-status-controller',
] as const
export type ControllerName = (typeof controllerNames)[number]

const SUFFIX = '-controller'
const fullName = (name: string): string => (name.endsWith(SUFFIX) ? name : name + SUFFIX)

/**
 * kube-controller-manager's `--controllers`: `*` is all, `name` one, `-name` all but this one, and, beyond upstream,
 * `-*` none; `-controller` may be left out of a name.
 */
export const controllers: OptionType<string[]> = {
  placeholder: '*|-*|NAME|-NAME,…',
  schema: names.schema,
  fromText: (value, soFar) => check(names.fromText(value, soFar)),
  fromFile: (value) => check(names.fromFile(value)),
  show: (chosen) => chosen.join(','),
}

function check(chosen: string[]): string[] {
  for (const entry of chosen) {
    const name = fullName(entry.replace(/^-/, ''))
    if (entry === '*' || entry === '-*' || (controllerNames as readonly string[]).includes(name)) continue
    if (entry.length < 2) throw mustBe('names of controllers', entry)
    throw new EntryError(entry, `has no controller "${entry.replace(/^-/, '')}"; ${suggestion(name, controllerNames)}`)
  }
  return chosen
}

/** The first entry that names a loop decides; else whether there is a `*`. */
export function isEnabled(name: ControllerName, chosen: readonly string[]): boolean {
  for (const entry of chosen) {
    if (fullName(entry) === name) return true
    if (entry.startsWith('-') && fullName(entry.slice(1)) === name) return false
  }
  return chosen.includes('*')
}
