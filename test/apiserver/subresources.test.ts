import t from 'tap'
import { findSubresource, hasSubresource } from '../../apiserver/http/resources/subresource-routes.ts'
import { traitsOf } from '../../apiserver/kind/subresource-traits.ts'
import { subresourcesOf } from '../../apiserver/kind/subresources.ts'
import { resources } from '../../apiserver/resources/index.ts'

const methodsOfVerbs: Record<string, string> = {
  create: 'POST',
  delete: 'DELETE',
  get: 'GET',
  patch: 'PATCH',
  update: 'PUT',
}

for (const definition of resources)
  for (const { name, verbs } of subresourcesOf(definition))
    t.test(`${definition.group}/${definition.plural}/${name} serves what discovery lists, and no more`, async (t) => {
      const target = { group: definition.group, version: definition.version, resource: definition.plural }
      const find = (method: string) =>
        findSubresource(definition, { ...target, name: 'a', subresource: name, rest: [], watchPrefix: false }, method)
      for (const [verb, method] of Object.entries(methodsOfVerbs)) {
        if (verbs.includes(verb)) t.type(find(method), 'function', method)
        else t.throws(() => find(method), /does not allow this method/, method)
      }
    })

t.test('a name that a prototype has is no subresource, and has no traits', async (t) => {
  for (const name of ['constructor', '__proto__', 'toString', '']) {
    t.notOk(resources.some((definition) => hasSubresource(definition, name)))
    t.same(traitsOf(name), {})
  }
})
