export interface Answer {
  details?: { causes?: { field?: string; message?: string }[] }
}
const HINT =
  ' (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)'
/** Upstream makes the name of the type of `self` from the time of day. */
const NAME = /selfType\d+/g

/** The causes of a refusal in an order of their own: upstream visits the fields of a schema in a random one. */
export const causesOf = ({ details }: Answer): string[] =>
  (details?.causes ?? [])
    .map(({ field, message }) => `${field}: ${message}`.replace(HINT, ' (HINT)').replace(NAME, 'selfType'))
    .sort()
