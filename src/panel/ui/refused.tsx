import type { Refusal } from '#domain/refusal.ts'
import { statusOf } from '#http/problems.ts'
import type { Page } from '../route.ts'
import { refusalMessage } from '../words/refusals.ts'
import { Alert, ButtonLink } from './parts.tsx'

/** What a button could not do, and why; nothing was changed. */
export const refusedPage = (refusal: Refusal): Page => ({
  title: 'Não foi possível concluir',
  body: <Alert>{refusalMessage(refusal)}</Alert>,
  status: statusOf(refusal.refused),
})

/** Why something cannot be done as things stand, and the way back, below the panel. */
export const obstaclePage = (title: string, obstacle: string, back: string): Page => ({
  title,
  body: (
    <>
      <Alert>{obstacle}</Alert>
      <ButtonLink to={back}>Voltar</ButtonLink>
    </>
  ),
})
