import type { Refusal } from '../../../domain/refusal.ts'
import { statusOf } from '../../problems.ts'
import type { Page } from '../route.ts'
import { refusalMessage } from '../words/refusals.ts'

/** What a button could not do, and why; nothing was changed. */
export const refusedPage = (refusal: Refusal): Page => ({
  title: 'Não foi possível concluir',
  body: (
    <p class="problem" role="alert">
      {refusalMessage(refusal)}
    </p>
  ),
  status: statusOf(refusal.refused),
})
