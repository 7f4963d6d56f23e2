import type { Event } from '../../shared/api/types.ts'
import { resource } from '../registry/resource-definition.ts'
import { invalid, required } from '../validation/field-error.ts'
import type { FieldErrors } from '../validation/field-errors.ts'
import { qualifiedName } from '../validation/names.ts'
import { age, column, nameColumn, wide } from './cells.ts'

export const event = resource<Event>({
  group: '',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  singular: 'event',
  namespaced: true,
  shortNames: ['ev'],
  schema: 'io.k8s.api.core.v1.Event',
  columns: [
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
  ],
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
    validate,
    validateUpdate: (object, _old, errors) => validate(object, errors),
    allowCreateOnUpdate: true,
  },
  example: {
    apiVersion: 'v1',
    kind: 'Event',
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

const DEFAULT_NAMESPACE = 'default'

function validate(event: Event, errors: FieldErrors): void {
  const { metadata, involvedObject } = event
  const namespace = metadata.namespace ?? ''
  const involved = involvedObject.namespace ?? ''
  if (involved === '') {
    if (namespace !== '' && namespace !== DEFAULT_NAMESPACE) {
      errors.push(invalid('involvedObject.namespace', involved, 'does not match event.namespace'))
    }
  } else if (namespace !== involved) {
    errors.push(invalid('involvedObject.namespace', involved, 'does not match event.namespace'))
  }
  if (event.eventTime) validateNewForm(event, errors)
}

/** Events with an eventTime are of the newer API and say who does what. */
function validateNewForm(event: Event, errors: FieldErrors): void {
  const component = event.reportingComponent ?? ''
  if (!component) errors.push(required('reportingComponent'))
  for (const message of qualifiedName(component)) errors.push(invalid('reportingComponent', component, message))
  if (!event.reportingInstance) errors.push(required('reportingInstance'))
  if (!event.action) errors.push(required('action'))
  if (!event.reason) errors.push(required('reason'))
  if (event.type !== 'Normal' && event.type !== 'Warning') {
    errors.push(invalid('type', event.type ?? '', 'has invalid value: '.concat(event.type ?? '')))
  }
}
