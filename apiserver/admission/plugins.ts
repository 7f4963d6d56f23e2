import type { AdmissionPlugin, Lookup } from './admission-plugin.ts'
import { defaultTolerationSeconds } from './default-toleration-seconds.ts'
import { namespaceLifecycle } from './namespace-lifecycle.ts'
import { priority } from './priority.ts'
import { serviceAccount } from './service-account.ts'
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts'
import { taintNodesByCondition } from './taint-nodes-by-condition.ts'

/** The rules of a stock server, in its order, by the names that its flags know; some may be left out. */
export function admissionPlugins(
  lookup: Lookup,
  random: () => number,
  disabled: readonly string[] = [],
): AdmissionPlugin[] {
  const plugins: Record<string, AdmissionPlugin> = {
    NamespaceLifecycle: namespaceLifecycle(lookup),
    ServiceAccount: serviceAccount(lookup, random),
    TaintNodesByCondition: taintNodesByCondition,
    Priority: priority(lookup),
    DefaultTolerationSeconds: defaultTolerationSeconds,
    StorageObjectInUseProtection: storageObjectInUseProtection,
  }
  return Object.entries(plugins).flatMap(([name, plugin]) => (disabled.includes(name) ? [] : [plugin]))
}
