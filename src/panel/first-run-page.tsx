import type { Request, RequestHandler, Response } from 'express'
import type * as z from 'zod'
import { FirstRunInput } from '#access/one-time-links.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { toHttpStatus } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import { emailInput, lineInput, passwordInput, taxNumberInput } from './forms/input-kinds.ts'
import {
  checkForm,
  type Fields,
  type FilledForm,
  type FormBody,
  fillFromBody,
  fillFromRecord,
  formText,
} from './forms/panel-form.ts'
import { zoneInput } from './forms/zone-input.ts'
import { link, readFormBody } from './page-context.ts'
import { sendPlainPage, sendRedirect } from './panel-answer.tsx'
import { openSession } from './panel-login.tsx'
import type { PanelServices } from './panel-route.ts'
import { toLoginOrigin } from './panel-session.ts'
import { FieldList } from './ui/form-fields.tsx'
import { Alert } from './ui/page-parts.tsx'

export const FIRST_RUN_PATH = '/primeiro-acesso'

const FIELDS: Fields = {
  company: { label: 'Nome da loja', kind: lineInput, isRequired: true, columns: 12 },
  cnpj: { label: 'CNPJ', kind: taxNumberInput, isRequired: true, columns: 12 },
  timezone: { label: 'Cidade mais próxima (fuso horário)', kind: zoneInput(), isRequired: true, columns: 12 },
  name: { label: 'Seu nome', kind: lineInput, isRequired: true, columns: 12 },
  email: { label: 'Seu e-mail', kind: emailInput, isRequired: true, columns: 12 },
  password: { label: 'Senha', kind: passwordInput('new-password'), isRequired: true, columns: 12 },
  repeated: { label: 'Confirme a senha', kind: passwordInput('new-password'), isRequired: true, columns: 12 },
}

/** The form's input, or everything that is wrong with it. */
function readFirstRun(form: FormBody): { readonly input: z.infer<typeof FirstRunInput> } | Refusal {
  const { repeated: _, ...read } = FIELDS
  const typed = checkForm(FirstRunInput, read, form, 'UTC')
  if (formText(form, 'password') === formText(form, 'repeated')) return typed
  const wrong = isRefusal(typed) ? (typed.details?.fields as object | undefined) : {}
  return refuse('validation_failed', { fields: { ...wrong, repeated: ['não é igual à senha'] } })
}

/** Creates the first company and its owner, behind the link that the service printed at its start. */
export const firstRunPage = ({ access: { firstRun, login } }: PanelServices) => {
  const show: RequestHandler = async (request, response) => {
    const code = String(request.query.codigo ?? '')
    if (await firstRun.isOpen(code)) sendFirstRun(response, code, fillFromRecord(FIELDS, {}, 'UTC'))
    else sendOver(response)
  }

  async function create(context: PanelServices, request: Request, response: Response): Promise<void> {
    const form = readFormBody(request)
    const code = formText(form, 'codigo')
    if (!(await firstRun.isOpen(code))) return sendOver(response)
    const typed = readFirstRun(form)
    const refused = (refusal: Refusal) =>
      sendFirstRun(response, code, fillFromBody(FIELDS, form, refusal), toHttpStatus(refusal.refused))
    if (isRefusal(typed)) return refused(typed)
    const outcome = await firstRun.create(code, typed.input, response.locals.requestId as string)
    if (outcome === 'over') return sendOver(response)
    if (outcome !== 'created') return refused(outcome)
    const entered = await login.logIn(typed.input, toLoginOrigin(request))
    const target = { next: '', typed: '', company: '' }
    const failure =
      entered.kind === 'loggedIn'
        ? await openSession(context, request, response, { ...entered, target, done: 'loja-criada' })
        : entered
    if (failure) sendRedirect(response, link('/entrar'), 'entre')
  }

  return { show, create }
}

const sendOver = (response: Response): void =>
  sendPlainPage(response, {
    title: 'Link encerrado',
    status: 410,
    body: (
      <>
        <Alert>Este link não vale: a primeira empresa já foi criada, ou o endereço está incompleto.</Alert>
        <p>
          <a href={link('/entrar')}>Entrar</a>
        </p>
      </>
    ),
  })

function sendFirstRun(response: Response, code: string, filled: FilledForm, status = 200): void {
  const body = (
    <form method="post" action={link(FIRST_RUN_PATH)} class="form" novalidate>
      {filled.problem && <Alert>{filled.problem}</Alert>}
      <p>Crie a sua loja e o seu acesso de proprietário. Confira o CNPJ e o e-mail: só eles não mudam depois.</p>
      <input type="hidden" name="codigo" value={code} />
      <FieldList fields={FIELDS} filled={filled} />
      <div class="actions">
        <button type="submit" class="main">
          Criar a loja
        </button>
      </div>
    </form>
  )
  sendPlainPage(response, { title: 'Primeiro acesso', status, body })
}
