import type { AdmissionPlugin, Lookup } from './admission-plugin.ts'
import { defaultTolerationSeconds } from './default-toleration-seconds.ts'
import { namespaceLifecycle } from './namespace-lifecycle.ts'
import { priority } from './priority.ts'
import { serviceAccount } from './service-account.ts'
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts'
import { taintNodesByCondition } from './taint-nodes-by-condition.ts'

/** The rules of a stock server, in its order. */
export const admissionPlugins = (lookup: Lookup, random: () => number): AdmissionPlugin[] => [
  namespaceLifecycle(lookup),
  serviceAccount(lookup, random),
  taintNodesByCondition,
  priority(lookup),
  defaultTolerationSeconds,
  storageObjectInUseProtection,
]
