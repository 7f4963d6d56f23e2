import type { Pod } from '../../../../shared/api/types.ts'
import { toTime } from '../../../../shared/clock/timestamp.ts'
import { resource } from '../../../kind/resource-definition.ts'
import { hasEmptied } from '../../../validation/emptied.ts'
import { forbidden } from '../../../validation/field-error.ts'
import { deepEqual } from '../../../values/deep-equal.ts'
import { isComplete, noteComplete, Recurring } from '../../../values/recurring.ts'
import { defaultPodOnly, defaultPodSpec } from '../../parts/pod-spec/defaults.ts'
import { dropDisabledFields } from '../../parts/pod-spec/gated-fields.ts'
import {
  alignAddresses,
  appArmorFromAnnotations,
  mergeLabelKeys,
  takeEphemeralContainers,
} from '../../parts/pod-spec/prepare.ts'
import { podWarnings, statusWarnings } from '../../parts/pod-spec/warnings.ts'
import { podCells, podColumns, podRowConditions } from './cells.ts'
import { gracePeriodSeconds } from './graceful-delete.ts'
import { keepObservedGenerations } from './observed-generation.ts'
import { qosClass } from './qos.ts'
import { takeResources, validateResize } from './resize.ts'
import {
  podNameRule,
  validateEphemeralUpdate,
  validateStatusUpdate,
  validateUpdate,
  validateWhole,
} from './validate-update.ts'

const schema = 'io.k8s.api.core.v1.Pod'

export const pod = resource<Pod>({
  group: '',
  kind: 'Pod',
  plural: 'pods',
  namespaced: true,
  shortNames: ['po'],
  categories: ['all'],
  schema,
  columns: podColumns,
  cells: podCells,
  rowConditions: podRowConditions,
  selectableFields: {
    'spec.nodeName': ({ spec }) => spec.nodeName ?? '',
    'spec.host': ({ spec }) => spec.nodeName ?? '',
    'spec.restartPolicy': ({ spec }) => spec.restartPolicy ?? '',
    'spec.schedulerName': ({ spec }) => spec.schedulerName ?? '',
    'spec.serviceAccountName': ({ spec }) => spec.serviceAccountName ?? '',
    'spec.hostNetwork': ({ spec }) => String(spec.hostNetwork ?? false),
    'status.phase': ({ status }) => status?.phase ?? '',
    'status.podIP': ({ status }) => status?.podIP ?? status?.podIPs?.[0]?.ip ?? '',
    // Accepted as a field, and never filled in.
    'status.podIPs': () => '',
    'status.nominatedNodeName': ({ status }) => status?.nominatedNodeName ?? '',
  },
  subresources: { status: true },
  resetFields: { status: ['metadata.deletionTimestamp', 'metadata.ownerReferences'] },
  extraSubresources: [
    { name: 'attach', kind: 'PodAttachOptions', verbs: ['create', 'get'] },
    { name: 'binding', kind: 'Binding', verbs: ['create'] },
    { name: 'ephemeralcontainers', kind: 'Pod', verbs: ['get', 'patch', 'update'] },
    { name: 'eviction', group: 'policy', version: 'v1', kind: 'Eviction', verbs: ['create'] },
    { name: 'exec', kind: 'PodExecOptions', verbs: ['create', 'get'] },
    { name: 'log', kind: 'Pod', verbs: ['get'] },
    { name: 'portforward', kind: 'PodPortForwardOptions', verbs: ['create', 'get'] },
    { name: 'proxy', kind: 'PodProxyOptions', verbs: ['create', 'delete', 'get', 'patch', 'update'] },
    { name: 'resize', kind: 'Pod', verbs: ['get', 'patch', 'update'] },
  ],
  strategy: {
    sharesSpec: true,
    applyDefaults(pod) {
      if (!isComplete(pod.spec, schema)) {
        defaultPodSpec(pod.spec)
        defaultPodOnly(pod.spec)
      }
      alignAddresses(pod)
    },
    prepareForCreate(object, { featureGates, nowMs }) {
      dropDisabledFields(object.spec, undefined, featureGates)
      treatNegativeGraceAsOne(object)
      appArmorFromAnnotations(object)
      mergeLabelKeys(object)
      object.spec = sharedSpec(object)
      object.status = { phase: 'Pending', qosClass: qosClass(object.spec) }
      if (object.spec.schedulingGates?.length) {
        object.status.conditions = [
          {
            type: 'PodScheduled',
            status: 'False',
            reason: 'SchedulingGated',
            message: 'Scheduling is blocked due to non-empty scheduling gates',
            lastProbeTime: null as unknown as undefined,
            lastTransitionTime: toTime(nowMs),
          },
        ]
      }
    },
    prepareForUpdate(object, old, { subresource, featureGates }) {
      if (object.spec !== old.spec) {
        dropDisabledFields(object.spec, old.spec, featureGates)
        if (!subresource) treatNegativeGraceAsOne(object)
      }
      if (subresource === 'ephemeralcontainers') takeEphemeralContainers(object, old)
      if (subresource === 'resize') takeResources(object, old)
      if (subresource === 'status') {
        object.metadata.ownerReferences = old.metadata.ownerReferences
        object.metadata.deletionTimestamp = old.metadata.deletionTimestamp
        if (object.status && !object.status.qosClass) object.status.qosClass = old.status?.qosClass
        keepObservedGenerations(object, old)
      }
      if (object.spec === old.spec) return
      if (!Object.isFrozen(old.spec) || !deepEqual(object.spec, old.spec)) object.spec = sharedSpec(object)
      else {
        object.spec = old.spec
        if (!subresource) noteComplete(old.spec, schema)
      }
    },
    validate(object, errors) {
      validateWhole(object, errors)
      if (object.spec.ephemeralContainers?.length) {
        errors.push(forbidden('spec.ephemeralContainers', 'cannot be set on create'))
      }
      if (object.spec.nodeName && object.spec.schedulingGates?.length) {
        errors.push(forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'))
      }
    },
    validateUpdate(object, old, errors, { subresource = '' }) {
      const validate = updateRules[subresource] ?? validateUpdate
      validate(object, old, errors)
    },
    warnings(pod, old, { subresource }) {
      if (subresource === 'status') return statusWarnings(pod)
      return old ? [] : podWarnings(pod.metadata, pod.spec)
    },
    validateName: podNameRule,
    checkGracefulDelete: gracePeriodSeconds,
    // Its binding is no change of what is wanted.
    generation: {
      changed: ({ spec }, old) =>
        spec !== old.spec && !deepEqual({ ...spec, nodeName: '' }, { ...old.spec, nodeName: '' }),
    },
    returnsDeletedObject: true,
  },
  example: {
    metadata: { name: 'web' },
    spec: { containers: [{ name: 'web', image: 'busybox:1.37', command: ['sleep', '3600'] }] },
  },
})

/** Shares the specs of pods that were made from one template. */
const specs = new Recurring<Pod['spec']>()

/** Messages show lists and maps that were written as empty: a spec with any stays what its client wrote. */
const sharedSpec = (pod: Pod): Pod['spec'] => (hasEmptied(pod) ? pod.spec : specs.of(pod.spec))

const updateRules: Record<string, typeof validateUpdate> = {
  /** The binding itself has been checked; it may set what an update may not. */
  binding: () => {},
  status: validateStatusUpdate,
  ephemeralcontainers: validateEphemeralUpdate,
  resize: validateResize,
}

function treatNegativeGraceAsOne({ spec }: Pod): void {
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) spec.terminationGracePeriodSeconds = 1
}
