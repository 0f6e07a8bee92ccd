import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import type * as z from 'zod'
import { FirstRunInput } from '#access/one-time-links.ts'
import { Password } from '#access/passwords.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { Email } from '#domain/text.ts'
import { type HttpRoute, limitUnauthenticatedBy, mountRoutes, rateLimitProblem } from '#http/edge.ts'
import { toHttpStatus } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import { emailInput, lineInput, passwordInput, taxNumberInput, zoneInput } from './forms/input-kinds.ts'
import {
  checkForm,
  type Fields,
  type FilledForm,
  type FormBody,
  fillFromBody,
  fillFromRecord,
  formText,
} from './forms/panel-form.ts'
import { link, PANEL, readFormBody } from './page-context.ts'
import { sendPlainPage, sendRedirect } from './panel-answer.tsx'
import { beginSecondStep, loadShownShop, openSession, toLoginOrigin } from './panel-login.tsx'
import type { PanelServices } from './panel-route.ts'
import { FieldList } from './ui/form-fields.tsx'
import { Alert } from './ui/page-parts.tsx'

const FIRST_RUN_PATH = '/primeiro-acesso'

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
const firstRunPage = ({ access: { firstRun, login } }: PanelServices) => {
  const show: RequestHandler = async (request, response) => {
    const code = String(request.query.codigo ?? '')
    if (await firstRun.isOpen(code)) sendFirstRun(response, code, fillFromRecord(FIELDS, {}, 'UTC'))
    else sendFirstRunOver(response)
  }

  async function create(context: PanelServices, request: Request, response: Response): Promise<void> {
    const form = readFormBody(request)
    const code = formText(form, 'codigo')
    if (!(await firstRun.isOpen(code))) return sendFirstRunOver(response)
    const typed = readFirstRun(form)
    const refused = (refusal: Refusal) =>
      sendFirstRun(response, code, fillFromBody(FIELDS, form, refusal), toHttpStatus(refusal.refused))
    if (isRefusal(typed)) return refused(typed)
    const outcome = await firstRun.create(code, typed.input, response.locals.requestId as string)
    if (outcome === 'over') return sendFirstRunOver(response)
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

const sendFirstRunOver = (response: Response): void =>
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

/** Pages behind links, without a login: the first company, accepting an invitation, and a new password. */
export function linkRoutes(context: PanelServices, readForm: RequestHandler): Router {
  const router = express.Router({ caseSensitive: true })
  const limitAnonymous = limitUnauthenticatedBy(context.limits.addresses)
  const { invitations, passwordLinks, shownShops } = context.access
  const limit: RequestHandler = async (request, response, next) => {
    await limitAnonymous(request, response)
    next()
  }

  async function showInvitation(response: Response, code: string, problem?: string, status = 200): Promise<void> {
    const invitation = await invitations.find(code)
    if (!invitation) return sendOver(response, 'Este convite não é mais válido. Peça outro a quem convidou você.')
    const { companyName, email, companyId } = invitation
    response.locals.shop = await shownShops.find(companyId)
    sendPasswordForm(response, {
      to: '/convite',
      title: 'Aceitar convite',
      label: 'Entrar na empresa',
      code,
      problem,
      status,
      hint: `${companyName} convidou ${email}. Se você já usa o Tillbook com este e-mail, informe sua senha. Se não, crie uma.`,
    })
  }

  const ask: RequestHandler = async (request, response) => {
    const counted = await passwordLinks.asked.consume(request.ip ?? '')
    if (counted.limited) throw rateLimitProblem(counted)
    const email = Email.safeParse(formText(readFormBody(request), 'email'))
    if (email.success) passwordLinks.ask(email.data)
    sendRedirect(response, link('/entrar'), 'link-enviado')
  }

  const setPassword: RequestHandler = async (request, response) => {
    const { code, password, problem } = passwordIn(request)
    if (problem) return sendNewPassword(response, code, problem)
    const isSet = await passwordLinks.use(code, password, response.locals.requestId as string)
    if (!isSet)
      return sendOver(
        response,
        'Este link não é mais válido. Peça outro em "Esqueci a senha" ou a um proprietário da empresa.',
      )
    sendRedirect(response, link('/entrar'), 'senha-trocada')
  }

  const showNewPassword: RequestHandler = async (request, response) => {
    const companyId = await passwordLinks.companyOf(codeOf(request))
    if (companyId !== null) response.locals.shop = await shownShops.find(companyId)
    sendNewPassword(response, codeOf(request))
  }

  const accept: RequestHandler = (request, response) => acceptInvitationLink(context, request, response, showInvitation)
  const page = (path: string, show: RequestHandler, submit: RequestHandler): HttpRoute[] => [
    { method: 'get', path, handlers: [show] },
    { method: 'post', path, handlers: [readForm, submit] },
  ]
  const first = firstRunPage(context)
  const routes = [
    ...page(FIRST_RUN_PATH, first.show, (request, response) => first.create(context, request, response)),
    ...page('/convite', (request, response) => showInvitation(response, codeOf(request)), accept),
    ...page('/esqueci', (_request, response) => sendForgotten(response, passwordLinks.isAvailable), ask),
    ...page('/nova-senha', showNewPassword, setPassword),
  ]
  return mountRoutes(router, PANEL, routes, { first: [limit, loadShownShop(context, null)] })
}

/** Shows the page of an invitation's code, or that it is over. */
type InvitationPage = (response: Response, code: string, problem?: string, status?: number) => Promise<void>

/** Accepts an invitation and opens the company: the same password that was accepted logs in. */
async function acceptInvitationLink(
  context: PanelServices,
  request: Request,
  response: Response,
  show: InvitationPage,
): Promise<void> {
  const { invitations, login } = context.access
  const { code, password, problem } = passwordIn(request)
  if (problem) return show(response, code, problem, 422)
  const from = { address: request.ip ?? '', requestId: response.locals.requestId as string }
  const invitation = await invitations.find(code)
  const outcome = await invitations.accept(code, password, from)
  if (!invitation || outcome.kind === 'over') return show(response, code)
  if (outcome.kind === 'wrong')
    return show(response, code, 'Senha incorreta. Informe a senha que você já usa com este e-mail.', 401)
  if (outcome.kind === 'limited') throw rateLimitProblem(outcome)
  const target = { next: '', typed: '', company: String(invitation.companyId) }
  const entered = await login.logIn({ email: invitation.email, password }, toLoginOrigin(request))
  if (entered.kind === 'secondStep') return beginSecondStep(context, response, entered, target)
  const failure =
    entered.kind === 'loggedIn'
      ? await openSession(context, request, response, { ...entered, target, done: 'bem-vindo' })
      : entered
  if (failure) sendRedirect(response, link('/entrar'), 'entre')
}

const codeOf = ({ query }: Request): string => String(query.codigo ?? '')

function passwordIn(request: Request): { code: string; password: string; problem?: string | undefined } {
  const form = readFormBody(request)
  const [code, typed] = [formText(form, 'codigo'), formText(form, 'password')]
  const parsed = Password.safeParse(typed)
  if (!parsed.success) return { code, password: '', problem: `A senha ${parsed.error.issues[0]?.message}.` }
  const problem = typed === formText(form, 'repeated') ? undefined : 'As duas senhas não são iguais.'
  return { code, password: parsed.data, problem }
}

const sendOver = (response: Response, message: string): void =>
  sendPlainPage(response, { title: 'Link expirado', status: 410, body: <Alert>{message}</Alert> })

const sendNewPassword = (response: Response, code: string, problem?: string): void =>
  sendPasswordForm(response, {
    to: '/nova-senha',
    title: 'Nova senha',
    label: 'Trocar senha',
    code,
    problem,
    status: problem ? 422 : 200,
    hint: 'Você sairá de todos os aparelhos e caixas.',
  })

interface PasswordForm {
  readonly to: string
  readonly title: string
  readonly label: string
  readonly code: string
  readonly hint: string
  readonly problem?: string | undefined
  readonly status: number
}

function sendPasswordForm(response: Response, { to, title, label, code, hint, problem, status }: PasswordForm): void {
  const body = (
    <form method="post" action={link(to)} class="form">
      {problem && <Alert>{problem}</Alert>}
      <p>{hint}</p>
      <input type="hidden" name="codigo" value={code} />
      <div class="field w12">
        <label for="password">Senha</label>
        <input id="password" name="password" type="password" autocomplete="new-password" required maxlength={200} />
      </div>
      <div class="field w12">
        <label for="repeated">Confirme a senha</label>
        <input id="repeated" name="repeated" type="password" autocomplete="new-password" required maxlength={200} />
      </div>
      <div class="actions">
        <button type="submit" class="main">
          {label}
        </button>
      </div>
    </form>
  )
  sendPlainPage(response, { title, status, body })
}

function sendForgotten(response: Response, isAvailable: boolean): void {
  const body = isAvailable ? (
    <form method="post" action={link('/esqueci')} class="form">
      <p>
        Se houver uma conta com este e-mail, enviaremos um link para criar uma nova senha. Ele vale uma hora. Se não
        chegar em dez minutos, olhe no spam e peça de novo, ou peça um link a um proprietário da empresa.
      </p>
      <div class="field w12">
        <label for="email">E-mail</label>
        <input id="email" name="email" type="email" autocomplete="username" required />
      </div>
      <div class="actions">
        <button type="submit" class="main">
          Enviar
        </button>
      </div>
    </form>
  ) : (
    <>
      <p>Esta instalação não envia e-mails. Peça um link para uma nova senha a um proprietário da empresa:</p>
      <ol>
        <li>
          Ele abre <strong>Configurações &gt; Usuários</strong> e o seu nome.
        </li>
        <li>
          Em <strong>Link para nova senha</strong>, cria o link, que vale uma hora, e o manda para você.
        </li>
      </ol>
      <p>Se você é o único proprietário, fale com quem opera o serviço.</p>
    </>
  )
  sendPlainPage(response, { title: 'Esqueci a senha', body })
}
