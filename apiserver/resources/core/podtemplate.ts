import type { PodTemplate } from '../../../shared/api/types.ts'
import { column, nameColumn } from '../../kind/cells.ts'
import { resource } from '../../kind/resource-definition.ts'
import type { FieldErrors } from '../../validation/field-errors.ts'
import { deepEqual } from '../../values/deep-equal.ts'
import {
  containerImages,
  containerNames,
  defaultPodTemplate,
  dropDisabledTemplateFields,
  labelText,
  podTemplateWarnings,
  validatePodTemplate,
} from '../parts/pod-template.ts'
import { isNewGeneration } from '../parts/workload.ts'

export const podtemplate = resource<PodTemplate>({
  group: '',
  kind: 'PodTemplate',
  plural: 'podtemplates',
  namespaced: true,
  columns: [
    nameColumn,
    column('Containers', 'Names of each container in the template.'),
    column('Images', 'Images referenced by each container in the template.'),
    column('Pod Labels', 'The labels for the pod template.'),
  ],
  cells: ({ metadata, template }) => [
    metadata.name,
    containerNames(template),
    containerImages(template),
    labelText(template.metadata?.labels),
  ],
  strategy: {
    applyDefaults: ({ template }) => defaultPodTemplate(template),
    prepareForCreate: ({ template }, { featureGates }) => dropDisabledTemplateFields(template, undefined, featureGates),
    prepareForUpdate: ({ template }, old, { featureGates }) =>
      dropDisabledTemplateFields(template, old.template, featureGates),
    validate,
    validateUpdate: (object, _old, errors) => validate(object, errors),
    warnings: (object, old) =>
      old && !isNewGeneration(object, old) ? [] : podTemplateWarnings(object.template, 'template'),
    generation: { changed: (object, old) => !deepEqual(object.template, old.template) },
    returnsDeletedObject: true,
  },
  example: {
    metadata: { name: 'web' },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'busybox:1.37' }] } },
  },
})

function validate({ template }: PodTemplate, errors: FieldErrors): void {
  validatePodTemplate(template, 'template', errors)
}
