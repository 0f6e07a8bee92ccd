import type { Request, Response } from 'express'
import type { CompletedLogin, LoginFailure } from '#access/login.ts'
import { csrfTokenOf } from '#access/sessions.ts'
import { sendPlainPage, sendRedirect } from './answer.tsx'
import { type FormBody, formText } from './forms/form.ts'
import { link } from './link.ts'
import { AGAIN, decodePreservedInput, inputOwnerOf, type PreservedInput } from './preserved-input.ts'
import type { PanelServices } from './route.ts'
import { panelSessionOf, setDeviceCookie, setSessionCookie } from './session.ts'
import type { FlashCode } from './words/flashes.ts'

/** Where a login leads to; both steps of a login carry it in hidden fields. */
export interface LoginTarget {
  /** Page to continue with, as in the address; empty without one. */
  readonly next: string
  /** A form that was submitted after the session had ended (preserved-input.ts); empty without one. */
  readonly typed: string
  /** Company to open; empty if the person chooses. */
  readonly company: string
}

const NEXT = 'para'
const TYPED = 'digitado'
const COMPANY = 'empresa'

export const loginTargetOf = (form: FormBody): LoginTarget => ({
  next: formText(form, NEXT),
  typed: formText(form, TYPED),
  company: formText(form, COMPANY),
})

export const LoginTargetFields = ({ target: { next, typed, company } }: { readonly target: LoginTarget }) => (
  <>
    <input type="hidden" name={NEXT} value={next} />
    {typed !== '' && <input type="hidden" name={TYPED} value={typed} />}
    {company !== '' && <input type="hidden" name={COMPANY} value={company} />}
  </>
)

/** Opens the session of a completed login and answers the request, unless it is refused. */
export async function openSession(
  context: PanelServices,
  request: Request,
  response: Response,
  { memberships, device, target, done }: CompletedLogin & { readonly target: LoginTarget; readonly done?: FlashCode },
): Promise<LoginFailure | null> {
  const { login, sessions } = context.access
  // Preserved input is returned only to its author, in the same company.
  const kept = decodePreservedInput(target.typed)
  const author = kept && memberships.find(({ holder }) => inputOwnerOf(holder) === kept.owner)
  const asked = memberships.find(({ holder }) => String(holder.companyId) === target.company)
  const first = author ?? asked ?? memberships[0]
  if (!first) return { kind: 'wrong' }
  const refused = await login.admit(first)
  if (refused) return refused
  const before = await panelSessionOf(context, request)
  const { token, expiresAt } = await sessions.issue(first.holder, request.get('user-agent'))
  // The browser loses the token of the previous session, so that session could not be ended later.
  if (before) await sessions.revoke(before)
  setSessionCookie(request, response, token, expiresAt)
  setDeviceCookie(request, response, device)
  // Users of several companies choose one first.
  const to = memberships.length > 1 && !asked ? link('/empresas') : (ownPage(target.next) ?? link('/'))
  if (kept && author) sendTyped(response, kept, csrfTokenOf(token))
  else sendRedirect(response, to, done)
  return null
}

/** The page to continue with, if it belongs to the panel: `para` comes from the address and may name another site. */
const ownPage = (path: string): string | null =>
  /^\/painel(?=[/?]|$)(?!\/(?:entrar|sair|ao-vivo|convite|esqueci|nova-senha)\b)[\w/?=&%.:+-]*$/.test(path)
    ? path
    : null

/** Sends preserved input back to its form, which shows it without executing it. Scripts submit it at once. */
function sendTyped(response: Response, { path, form }: PreservedInput, csrfToken: string): void {
  const body = (
    <form method="post" action={link(path)} class="form" data-sent>
      <p>O que você preencheu está guardado nesta página.</p>
      <input type="hidden" name="_csrf" value={csrfToken} />
      <input type="hidden" name={AGAIN} value="1" />
      {Object.entries(form).flatMap(([name, value]) =>
        [value].flat().map((text, at) => <input key={`${name} ${at}`} type="hidden" name={name} value={text} />),
      )}
      <div class="actions">
        <button type="submit" class="main">
          Voltar ao formulário
        </button>
      </div>
    </form>
  )
  sendPlainPage(response, { title: 'Você entrou', body })
}
