/** Units of cost. Upstream: cel-go's common/cost.go. */
export const LIST = 10
export const MAP = 30
export const STRUCT = 40
/** For each character, byte or item that is read or made. */
export const TRAVERSAL = 0.1
/** For each character of a regular expression, times what the text costs. */
export const REGEX = 0.25
export const AUTHORIZATION_CHECK = 350_000
