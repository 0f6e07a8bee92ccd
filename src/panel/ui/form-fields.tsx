import type { ComponentChildren } from 'preact'
import { MAX_PICTURE_BYTES } from '#domain/images.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { toHttpStatus } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Option } from '../forms/input-kinds.ts'
import type { Field, Fields, FilledForm } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import { INPUT_OWNER, SECRETS, toInputOwner } from '../panel-cookies.ts'
import type { FormSubmission, PageContext, PanelPage, Redirect } from '../panel-route.ts'
import { ListTable } from './list-table.tsx'
import { Alert } from './page-parts.tsx'

interface FormProps {
  readonly visit: PageContext
  /** Path of the submission, below the panel. */
  readonly to: string
  readonly label: string
  readonly children?: ComponentChildren
  /** Below the fields. */
  readonly summary?: ComponentChildren
  readonly fields?: Fields
  readonly filled?: FilledForm
  /** Message for the whole form; that of `filled` by default. */
  readonly problem?: ComponentChildren
  readonly isDangerous?: boolean
  /** Path of the cancel link, below the panel. */
  readonly back?: string
  /** A second button shows what the form would change. */
  readonly showsChanges?: boolean | undefined
}

/** Name of the button that tries a form. */
export const TRY = '_ver'

/** Sends the form to be tried. */
export const TryButton = () => (
  <button type="submit" name={TRY} value="1">
    Ver o que muda
  </button>
)

const NOTHING: FilledForm = { values: {}, errors: {}, problem: null }

/**
 * A form that takes effect once: it has a CSRF token (`_csrf`) and an idempotency key (`_key`), so that a double click
 * or a resent page is the same request. Hidden if the user may not submit it.
 */
export const Form = (props: FormProps) => {
  const {
    visit,
    to,
    label,
    children,
    summary,
    fields = {},
    filled = NOTHING,
    problem = filled.problem,
    isDangerous,
    back,
    showsChanges,
  } = props
  const secrets = Object.keys(fields).filter((name) => isSecret(fields[name]))
  return visit.reaches('POST', to) ? (
    <form method="post" action={link(to)} class="form" novalidate>
      <input type="hidden" name="_csrf" value={visit.session.csrfToken} />
      <input type="hidden" name="_key" value={visit.context.environment.newId()} />
      <input type="hidden" name={INPUT_OWNER} value={toInputOwner(visit.session)} />
      {secrets.length > 0 && <input type="hidden" name={SECRETS} value={secrets.join(' ')} />}
      {problem && <Alert>{problem}</Alert>}
      {children}
      <FieldList fields={fields} filled={filled} />
      {summary}
      <div class="actions">
        <button type="submit" class={isDangerous ? 'danger' : 'main'}>
          {label}
        </button>
        {showsChanges && <TryButton />}
        {back && (
          <a class="button" href={link(back)}>
            Voltar
          </a>
        )}
      </div>
    </form>
  ) : null
}

const isSecret = (field: Field | undefined): boolean =>
  field?.kind.control.as === 'input' && field.kind.control.type === 'password'

interface ButtonFormProps {
  readonly visit: PageContext
  readonly to: string
  readonly label: string
  readonly values?: Readonly<Record<string, string>>
  readonly isDangerous?: boolean
  readonly isMain?: boolean
}

/** Hidden if the user may not submit it. */
export const ButtonForm = ({ visit, to, label, values = {}, isDangerous, isMain }: ButtonFormProps) =>
  visit.reaches('POST', to) ? (
    <form method="post" action={link(to)} class="inline">
      <input type="hidden" name="_csrf" value={visit.session.csrfToken} />
      <input type="hidden" name="_key" value={visit.context.environment.newId()} />
      {Object.entries(values).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      <button type="submit" class={isDangerous ? 'danger' : isMain ? 'main' : undefined}>
        {label}
      </button>
    </form>
  ) : null

export const toFieldId = (name: string): string => `campo-${name.replaceAll('.', '-')}`

interface FieldListProps {
  readonly fields: Fields
  readonly filled: FilledForm
}

/** Fields of a form, one after the other; folded ones in a part that opens on demand, and if one has an error. */
export const FieldList = ({ fields, filled }: FieldListProps) => {
  const wrong = firstWrong(fields, filled)
  return (
    <div class="fields">
      {runsOf(fields).map(({ fold, run }) => {
        const parts = run.map(([name, field]) => (
          <FieldPart key={name} name={name} field={field} filled={filled} isFirstWrong={name === wrong} />
        ))
        if (fold === undefined) return parts
        return (
          <details key={fold} class="fold" open={run.some(([name]) => filled.errors[name])}>
            <summary>{fold}</summary>
            <div class="fields">{parts}</div>
          </details>
        )
      })}
    </div>
  )
}

interface FieldRun {
  readonly fold: string | undefined
  readonly run: [name: string, field: Field][]
}

/** Fields that follow each other in the same folded part, or outside of one. */
function runsOf(fields: Fields): FieldRun[] {
  const runs: FieldRun[] = []
  for (const [name, field] of Object.entries(fields)) {
    const last = runs.at(-1)
    if (last && last.fold === field.fold) last.run.push([name, field])
    else runs.push({ fold: field.fold, run: [[name, field]] })
  }
  return runs
}

/** The page opens with the focus on it. */
const firstWrong = (fields: Fields, { errors }: FilledForm): string | undefined =>
  Object.keys(fields).find((name) => (errors[name]?.length ?? 0) > 0)

interface FieldProps {
  readonly name: string
  readonly field: Field
  readonly filled: FilledForm
  readonly isFirstWrong: boolean
}

const FieldPart = ({ name, field, filled, isFirstWrong }: FieldProps) => {
  const errors = filled.errors[name] ?? []
  const id = toFieldId(name)
  const described = [field.hint && `${id}-dica`, errors.length > 0 && `${id}-erro`].filter(Boolean).join(' ')
  const isGroup = field.kind.control.as === 'checkboxes'
  const attributes = {
    id,
    name,
    'aria-describedby': described || undefined,
    'aria-invalid': errors.length > 0 ? ('true' as const) : undefined,
    autofocus: isFirstWrong || undefined,
  }
  const label = (
    <>
      {field.label}
      {field.isRequired && <span class="required"> (obrigatório)</span>}
    </>
  )
  return (
    <>
      {field.group && <h2 class="group">{field.group}</h2>}
      <div
        class={`field w${field.columns ?? (isGroup ? 12 : 6)}${errors.length > 0 ? ' invalid' : ''}`}
        data-of={field.of}
      >
        {isGroup ? null : <label for={id}>{label}</label>}
        <Control field={field} attributes={attributes} values={filled.values[name] ?? []} legend={label} />
        {field.hint && (
          <p class="hint" id={`${id}-dica`}>
            {field.hint}
          </p>
        )}
        {errors.length > 0 && (
          <p class="error" id={`${id}-erro`}>
            {`${field.label}: ${errors.join('; ')}`}
          </p>
        )}
      </div>
    </>
  )
}

interface ControlProps {
  readonly field: Field
  readonly attributes: {
    readonly id: string
    readonly name: string
    readonly 'aria-describedby': string | undefined
    readonly 'aria-invalid': 'true' | undefined
    readonly autofocus: true | undefined
  }
  readonly values: readonly string[]
  readonly legend: ComponentChildren
}

const Control = ({ field: { kind, isRequired }, attributes, values, legend }: ControlProps) => {
  const { control } = kind
  const [value = ''] = values
  switch (control.as) {
    case 'textarea':
      return (
        <textarea {...attributes} rows={control.rows} required={isRequired}>
          {value}
        </textarea>
      )
    case 'select': {
      const offersNone = !isRequired || control.none !== undefined
      return (
        <select {...attributes} required={isRequired}>
          {offersNone && <option value="">{control.none ?? 'Não informado'}</option>}
          {control.options.map((option) => (
            <option key={option.value} value={option.value} selected={option.value === value}>
              {option.label}
            </option>
          ))}
        </select>
      )
    }
    case 'search':
      return <SearchControl control={control} attributes={attributes} values={values} legend={legend} />
    case 'color':
      return <ColorControl attributes={attributes} value={value} />
    case 'checkbox':
      return <input {...attributes} type="checkbox" checked={value === 'on'} />
    case 'checkboxes': {
      const choice = (option: Option, at: number) => (
        <Choice option={option} attributes={attributes} values={values} isFirst={at === 0} />
      )
      return (
        <fieldset id={attributes.id} aria-describedby={attributes['aria-describedby']}>
          <legend>{legend}</legend>
          {control.heads ? (
            <ListTable
              caption="Opções"
              rows={control.options.map((option, at) => ({ option, at }))}
              empty=""
              columns={[
                { head: control.heads[0] ?? '', cell: ({ option, at }) => choice(option, at) },
                ...control.heads.slice(1).map((head, place) => ({
                  head,
                  cell: ({ option }: { readonly option: Option }) => option.cells?.[place],
                  isNumber: true as const,
                })),
              ]}
            />
          ) : (
            <div class="choices">{control.options.map(choice)}</div>
          )}
        </fieldset>
      )
    }
    default: {
      const { as: _, suggestions, ...rest } = control
      // Inputs are discriminated by `type`: a type known only at run time matches none of them.
      const input = rest as typeof rest & { type: 'text' }
      const list = suggestions && `${attributes.id}-sugestoes`
      return (
        <>
          <input {...attributes} {...input} list={list} value={value} required={isRequired} />
          {list && (
            <datalist id={list}>
              {suggestions.map((suggestion) => (
                <option key={suggestion} value={suggestion} />
              ))}
            </datalist>
          )}
        </>
      )
    }
  }
}

interface ChoiceProps extends Pick<ControlProps, 'attributes' | 'values'> {
  readonly option: Option
  readonly isFirst: boolean
}

const Choice = ({ option, attributes, values, isFirst }: ChoiceProps) => (
  <label class="choice" data-within={option.within}>
    <input
      type="checkbox"
      name={attributes.name}
      value={option.value}
      checked={values.includes(option.value)}
      data-requires={option.requires?.join(' ') || undefined}
      autofocus={attributes.autofocus && isFirst}
    />
    {option.note ? (
      <span>
        {option.label}
        <small class="hint">{option.note}</small>
      </span>
    ) : (
      option.label
    )}
  </label>
)

interface ColorControlProps extends Pick<ControlProps, 'attributes'> {
  readonly value: string
}

/** A picker has no empty value, so that the text is what is sent; the script joins the two. */
const ColorControl = ({ attributes, value }: ColorControlProps) => (
  <>
    <input {...attributes} type="text" maxlength={40} autocomplete="off" value={value} />
    <span data-color={attributes.id} hidden>
      <input type="color" aria-label="Escolher a cor" />{' '}
      <svg class="swatch" viewBox="0 0 1 1" aria-hidden="true">
        <rect width="1" height="1" fill="none" />
      </svg>{' '}
      <button type="button" class="main">
        Amostra
      </button>
    </span>
  </>
)

interface SearchControlProps extends Pick<ControlProps, 'attributes' | 'values' | 'legend'> {
  readonly control: Extract<Field['kind']['control'], { as: 'search' }>
}

/** htmx replaces what was found while the user types; without scripts the form shows it when it is sent. */
const SearchControl = ({ control: { path, found, note }, attributes, values, legend }: SearchControlProps) => {
  const [typed = '', chosen] = values
  const target = `${attributes.id}-achados`
  return (
    <>
      <input
        {...attributes}
        type="search"
        maxlength={120}
        autocomplete="off"
        value={typed}
        hx-get={link(path)}
        hx-trigger="input changed delay:300ms"
        hx-select={`#${target}`}
        hx-target={`#${target}`}
        hx-swap="outerHTML"
      />
      <div id={target} aria-live="polite">
        {found.length > 0 && (
          <fieldset class="found-choices">
            <legend class="hidden">{legend}: encontrados</legend>
            {found.map((one) => (
              <label key={one.value} class="choice">
                <input type="radio" name={attributes.name} value={one.value} checked={one.value === chosen} />
                <span>
                  <strong>{one.label}</strong> {one.details.join(' · ')}
                </span>
              </label>
            ))}
          </fieldset>
        )}
        {note !== null && <p class="hint">{note}</p>}
      </div>
    </>
  )
}

interface PictureFormProps {
  readonly visit: PageContext
  /** Path that takes the file; `/excluir` below it deletes the picture. */
  readonly to: string
  /** As on its buttons: `imagem`, `logotipo`. */
  readonly noun: string
  readonly hint: string
  readonly hasPicture: boolean
}

/** Upload form of a picture, which a script converts to WebP, with the button that deletes it. */
export const PictureForm = ({ visit, to, noun, hint, hasPicture }: PictureFormProps) => (
  <>
    <form method="post" action={link(to)} enctype="multipart/form-data" class="form" data-picture={MAX_PICTURE_BYTES}>
      <input type="hidden" name="_csrf" value={visit.session.csrfToken} />
      <input type="hidden" name="_key" value={visit.context.environment.newId()} />
      <div class="field w12">
        <label for="campo-imagem">Arquivo de imagem</label>
        <input
          id="campo-imagem"
          name="file"
          type="file"
          accept="image/webp,image/jpeg,image/png,image/heic,image/heif,.webp,.jpg,.jpeg,.png,.heic,.heif"
          required
          aria-describedby="dica-imagem"
        />
        <p class="hint" id="dica-imagem">
          {`JPG, PNG, WebP ou HEIC: o navegador converte para WebP de até ${MAX_PICTURE_BYTES / 1024} KB. ${hint}`}
        </p>
        <p class="error" role="alert" hidden />
        <noscript>
          <p class="hint">Sem scripts, o navegador não converte: envie um arquivo WebP.</p>
        </noscript>
      </div>
      <div class="actions">
        <button type="submit">{`${hasPicture ? 'Trocar' : 'Enviar'} ${noun}`}</button>
      </div>
    </form>
    {hasPicture && <ButtonForm visit={visit} to={`${to}/excluir`} label={`Excluir ${noun}`} isDangerous />}
  </>
)

/** Why a picture was refused; `what` is its name with the article. */
export const PictureProblem = ({ what, refusal }: { readonly what: string; readonly refusal: Refusal }) => {
  const messages = (refusal.details?.fields as { content?: string[] } | undefined)?.content ?? []
  return <Alert>{messages.length > 0 ? `${what} ${messages.join('; ')}.` : 'O arquivo não foi gravado.'}</Alert>
}

interface PictureUpload {
  /** Records the picture. */
  set(content: Buffer): Promise<Redirect | Refusal>
  /** Page that says why it was refused. */
  refused(refusal: Refusal): PanelPage
}

/** Submission of a `PictureForm`. */
export async function uploadPicture(
  { file }: FormSubmission,
  { set, refused }: PictureUpload,
): Promise<Redirect | PanelPage> {
  const answer =
    file && file.length > 0 ? await set(Buffer.from(file)) : refuseField('content', 'precisa de um arquivo')
  return isRefusal(answer) ? { ...refused(answer), status: toHttpStatus(answer.refused) } : answer
}
