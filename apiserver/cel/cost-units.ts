/** The cost of making a list, in units of CEL like the costs below. Upstream: cel-go's common/cost.go. */
export const LIST = 10
export const MAP = 30
export const STRUCT = 40
/** The cost for each character, byte or item that is read or made. */
export const TRAVERSAL = 0.1
/** The cost for each character of a regular expression, multiplied by the cost of the text. */
export const REGEX = 0.25
export const AUTHORIZATION_CHECK = 350_000
