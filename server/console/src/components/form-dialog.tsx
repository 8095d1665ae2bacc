import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { Button } from '.';

type FormDialogProps = {
  button: string;
  /** The name of the button for screen readers, if the button's text alone does not say what it changes. */
  label: string;
  title: string;
  children: (close: () => void) => ComponentChildren;
};

/** A button that opens a form in a dialog. The form is new each time. It ends with `close`; Escape closes it, too. */
export function FormDialog({ button, label, title, children }: FormDialogProps) {
  const [isOpen, setOpen] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal();
  }, [isOpen]);
  return (
    <span class="action">
      <Button label={label} onClick={() => setOpen(true)}>
        {button}
      </Button>
      {isOpen && (
        <dialog ref={dialog} aria-labelledby={id} onClose={() => setOpen(false)}>
          <h2 id={id}>{title}</h2>
          {children(() => dialog.current?.close())}
        </dialog>
      )}
    </span>
  );
}
