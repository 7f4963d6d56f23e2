import type { Event } from '../../../../shared/api/types.ts'
import { age, column, nameColumn, wide } from '../../../kind/cells.ts'
import { type ResourceDefinition, resource } from '../../../kind/resource-definition.ts'
import { invalid, required } from '../../../validation/field-error.ts'
import type { FieldErrors } from '../../../validation/field-errors.ts'
import { pathSegmentName, qualifiedName } from '../../../validation/names.ts'
import { deepEqual } from '../../../values/deep-equal.ts'
import { plain } from '../../parts/plain.ts'
import { validateImmutable } from '../../parts/workload.ts'
import { type NewEvent, newEventConversion, toCore } from './conversion.ts'

const columns = [
  column('Last Seen', 'When the event was last seen.'),
  column('Type', 'Normal or Warning.'),
  column('Reason', 'Why the event was written, in one word.'),
  column('Object', 'What the event is about.'),
  column('Subobject', 'Which part of the object.', wide),
  column('Source', 'Who reported the event.', wide),
  column('Message', 'What happened.'),
  column('First Seen', 'When the event was first seen.', wide),
  column('Count', 'How often the event was seen.', wide),
  { ...nameColumn, ...wide },
]

export const event = resource<Event>({
  group: '',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
  shortNames: ['ev'],
  columns,
  cells,
  selectableFields: {
    'involvedObject.kind': ({ involvedObject }) => involvedObject.kind ?? '',
    'involvedObject.namespace': ({ involvedObject }) => involvedObject.namespace ?? '',
    'involvedObject.name': ({ involvedObject }) => involvedObject.name ?? '',
    'involvedObject.uid': ({ involvedObject }) => involvedObject.uid ?? '',
    'involvedObject.apiVersion': ({ involvedObject }) => involvedObject.apiVersion ?? '',
    'involvedObject.resourceVersion': ({ involvedObject }) => involvedObject.resourceVersion ?? '',
    'involvedObject.fieldPath': ({ involvedObject }) => involvedObject.fieldPath ?? '',
    reason: ({ reason }) => reason ?? '',
    reportingComponent: ({ reportingComponent }) => reportingComponent ?? '',
    source: ({ source, reportingComponent }) => source?.component || reportingComponent || '',
    type: ({ type }) => type ?? '',
  },
  strategy: {
    validateName: pathSegmentName,
    unqualifiedFinalizers: true,
    validate,
    validateUpdate: (object, _old, errors) => validate(object, errors),
    allowCreateOnUpdate: true,
  },
  example: {
    metadata: { name: 'web.1' },
    involvedObject: { kind: 'Pod', name: 'web', namespace: 'default' },
    reason: 'Started',
    message: 'Started container web',
    type: 'Normal',
  },
})

function cells(event: Event, nowMs: number): unknown[] {
  const { metadata, involvedObject, source, series, eventTime } = event
  const first = event.firstTimestamp ?? eventTime
  const last = series?.lastObservedTime ?? event.lastTimestamp ?? first
  const component = source?.component || event.reportingComponent || ''
  const host = source?.host || event.reportingInstance || ''
  const kind = (involvedObject.kind ?? '').toLowerCase()
  return [
    age(last, nowMs),
    event.type ?? '',
    event.reason ?? '',
    involvedObject.name ? `${kind}/${involvedObject.name}` : kind,
    involvedObject.fieldPath ?? '',
    host ? `${component}, ${host}` : component,
    (event.message ?? '').trim(),
    age(first, nowMs),
    series?.count ?? (event.count || 1),
    metadata.name,
  ]
}

function validate(event: Event, errors: FieldErrors): void {
  validateNamespace(event, errors)
  if (!event.eventTime) return
  validateNewForm(event, 'reportingComponent', errors)
  if (!types.includes(event.type ?? ''))
    errors.push(invalid('type', event.type ?? '', `has invalid value: ${event.type ?? ''}`))
}
const types = ['Normal', 'Warning']

/** An event with an eventTime may be in another namespace than its object. Upstream: legacyValidateEvent. */
function validateNamespace(
  { metadata: { namespace = '' }, involvedObject, eventTime }: Event,
  errors: FieldErrors,
): void {
  const involved = involvedObject.namespace ?? ''
  const forObjectsOfNone = eventTime ? ['default', 'kube-system'] : ['', 'default']
  const agree = involved === '' ? forObjectsOfNone.includes(namespace) : !!eventTime || namespace === involved
  if (!agree) errors.push(invalid('involvedObject.namespace', involved, 'does not match event.namespace'))
}

/** Events with an eventTime are of the newer API and say who does what. */
function validateNewForm(event: Event, controllerField: string, errors: FieldErrors): void {
  const component = event.reportingComponent ?? ''
  if (!component) errors.push(required(controllerField))
  for (const message of qualifiedName(component)) errors.push(invalid(controllerField, component, message))
  for (const field of ['reportingInstance', 'action', 'reason'] as const) {
    if (!event[field]) errors.push(required(field))
    validateLength(event, field, MAX_BYTES, errors)
  }
  validateLength(event, 'message', MAX_NOTE_BYTES, errors)
}

const MAX_BYTES = 128
const MAX_NOTE_BYTES = 1024
function validateLength(event: Event, field: keyof Event, maxBytes: number, errors: FieldErrors): void {
  if (Buffer.byteLength(String(event[field] ?? '')) > maxBytes)
    errors.push(invalid(field, '', `can have at most ${maxBytes} characters`))
}

/** Applies a rule that only the newer group has. */
function validateSeries({ series }: Event, errors: FieldErrors): void {
  if (!series) return
  if ((series.count ?? 0) < 2) errors.push(invalid('series.count', '', 'should be at least 2'))
  if (!series.lastObservedTime) errors.push(required('series.lastObservedTime'))
}

/** Serves the same objects through the newer group, which has more rules. */
const newEvent = plain<NewEvent>({
  group: 'events.k8s.io',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
  shortNames: ['ev'],
  columns,
  cells: (event, nowMs) => cells(toCore(event), nowMs),
  selectableFields: {
    'regarding.kind': ({ regarding }) => regarding?.kind ?? '',
    'regarding.namespace': ({ regarding }) => regarding?.namespace ?? '',
    'regarding.name': ({ regarding }) => regarding?.name ?? '',
    'regarding.uid': ({ regarding }) => regarding?.uid ?? '',
    'regarding.apiVersion': ({ regarding }) => regarding?.apiVersion ?? '',
    'regarding.resourceVersion': ({ regarding }) => regarding?.resourceVersion ?? '',
    'regarding.fieldPath': ({ regarding }) => regarding?.fieldPath ?? '',
    reason: ({ reason }) => reason ?? '',
    reportingController: ({ reportingController }) => reportingController ?? '',
    type: ({ type }) => type ?? '',
  },
  strategy: {
    validate: (event, errors) => validateNewEvent(toCore(event), errors),
    validateUpdate: (event, old, errors) => validateNewEventUpdate(toCore(event), toCore(old), errors),
    allowCreateOnUpdate: true,
  },
  example: {
    metadata: { name: 'web.2' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'example.com/controller',
    reportingInstance: 'controller-1',
    action: 'Started',
    reason: 'Started',
    type: 'Normal',
    note: 'Started container web',
    regarding: { kind: 'Pod', name: 'web', namespace: 'default' },
  },
})
export const eventOfNewGroup: ResourceDefinition = { ...newEvent, conversion: newEventConversion }

const UNSET = 'needs to be unset'
function validateNewEvent(event: Event, errors: FieldErrors): void {
  validateNamespace(event, errors)
  if (event.eventTime) validateNewForm(event, 'reportingController', errors)
  else errors.push(required('eventTime'))
  validateSeries(event, errors)
  if (!types.includes(event.type ?? '')) errors.push(invalid('type', '', `has invalid value: ${event.type ?? ''}`))
  if (event.firstTimestamp) errors.push(invalid('firstTimestamp', '', UNSET))
  if (event.lastTimestamp) errors.push(invalid('lastTimestamp', '', UNSET))
  if (event.count) errors.push(invalid('count', '', UNSET))
  if (event.source?.component || event.source?.host) errors.push(invalid('source', '', UNSET))
}

const lasting = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  // Upstream looks at the reason twice.
  'reason',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingComponent',
  'reportingInstance',
] as const
const texts = new Set(['reason', 'message', 'type', 'action', 'reportingComponent', 'reportingInstance'])
const structs: { [field: string]: string } = {
  involvedObject: 'io.k8s.api.core.v1.ObjectReference',
  related: 'io.k8s.api.core.v1.ObjectReference',
  source: 'io.k8s.api.core.v1.EventSource',
}
function validateNewEventUpdate(event: Event, old: Event, errors: FieldErrors): void {
  validateNamespace(event, errors)
  if (event.eventTime) validateNewForm(event, 'reportingController', errors)
  if (!deepEqual(event.series, old.series)) validateSeries(event, errors)
  for (const field of lasting) {
    const at = field === 'reportingComponent' ? 'reportingController' : field
    const zero = field === 'count' ? 0 : texts.has(field) ? '' : undefined
    validateImmutable(event[field] ?? zero, old[field] ?? zero, at, errors, structs[field])
  }
}
