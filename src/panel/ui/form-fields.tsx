import type { ComponentChildren } from 'preact'
import type { Option } from '../forms/input-kinds.ts'
import type { Field, Fields, FilledForm } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import { asset } from '../panel-assets.ts'
import { INPUT_OWNER, SECRETS, toInputOwner } from '../panel-cookies.ts'
import type { PageContext } from '../panel-route.ts'
import { ListTable } from './list-table.tsx'
import { Alert, Icon } from './page-parts.tsx'

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
  /** Opens by its label, and by a problem. */
  readonly isFolded?: boolean
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
    isFolded,
  } = props
  const secrets = Object.keys(fields).filter((name) => isSecret(fields[name]))
  if (!visit.reaches('POST', to)) return null
  const form = (
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
  )
  if (!isFolded) return form
  return (
    <details open={!!problem || Object.keys(filled.errors).length > 0}>
      <summary>{label}</summary>
      {form}
    </details>
  )
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
  const focused = Object.keys(fields).find((name) => fields[name]?.isFocused)
  return (
    <div class="fields">
      {runsOf(fields).map(({ fold, run }) => {
        const parts = run.map(([name, field]) => (
          <FieldPart key={name} {...{ name, field, filled }} isFocused={name === (wrong ?? focused)} />
        ))
        if (fold === undefined) return parts
        return (
          <details key={fold} class="fold" open={run.some(([name]) => filled.errors[name])}>
            <summary>{fold}</summary>
            <div class="fields">{parts}</div>
          </details>
        )
      })}
      {Object.values(fields).some(({ scans }) => scans) && <CameraScript />}
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
  readonly isFocused: boolean
}

const FieldPart = ({ name, field, filled, isFocused }: FieldProps) => {
  const errors = filled.errors[name] ?? []
  const id = toFieldId(name)
  const described = [field.hint && `${id}-dica`, errors.length > 0 && `${id}-erro`].filter(Boolean).join(' ')
  const isGroup = field.kind.control.as === 'checkboxes'
  const attributes = {
    id,
    name,
    'aria-describedby': described || undefined,
    'aria-invalid': errors.length > 0 ? ('true' as const) : undefined,
    autofocus: isFocused || undefined,
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
        {field.scans && (
          <ScanButton field={id} sends={field.scans === 'send'}>
            Ler com a câmera
          </ScanButton>
        )}
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

interface ScanButtonProps {
  /** Id of the field that takes the code. */
  readonly field: string
  /** Whether the form is sent with it. */
  readonly sends?: boolean | undefined
  /** Reads as soon as the page is shown. */
  readonly begins?: boolean
  readonly children: ComponentChildren
}

/** Reads a code by camera; `CameraScript` shows it where the browser can. */
export const ScanButton = ({ field, sends, begins, children }: ScanButtonProps) => (
  <button type="button" data-scan={field} data-sends={sends || undefined} data-begins={begins || undefined} hidden>
    <Icon name="camera" />
    {children}
  </button>
)

export const CameraScript = () => <script type="module" src={asset('camera.js')} />

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
