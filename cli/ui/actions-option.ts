import { option } from '../../shared/config/option.ts'
import { flag } from '../../shared/config/option-types.ts'

export const uiActionsOption = option(flag, {
  default: false,
  help: 'Print a link to a page that may act: cordon and shut down nodes, delete pods',
})
