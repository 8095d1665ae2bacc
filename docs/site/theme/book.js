/** The behaviour of the documentation: colours, the menu, code, the headings of a page, and the search. */
(() => {
  const root = document.currentScript.dataset.root;
  const html = document.documentElement;

  // Before anything is drawn, so that the page does not flash in the other colours.
  html.classList.add('js');
  try {
    html.dataset.theme = localStorage.getItem('folkmoot-theme') ?? '';
  } catch {
    html.dataset.theme = '';
  }

  /** Chooses the colours: those of the system, light or dark. */
  function theme() {
    const button = document.querySelector('.theme');
    const themes = ['', 'light', 'dark'];
    const show = () => (button.textContent = `Theme: ${html.dataset.theme || 'auto'}`);
    button.addEventListener('click', () => {
      html.dataset.theme = themes[(themes.indexOf(html.dataset.theme) + 1) % themes.length];
      show();
      try {
        localStorage.setItem('folkmoot-theme', html.dataset.theme);
      } catch {
        // Without storage, the choice is only for this page.
      }
    });
    show();
  }

  /** Opens and closes the chapters on a narrow screen. */
  function menu() {
    const button = document.querySelector('.menu');
    const chapters = document.querySelector('.chapters');
    const set = (shown) => {
      chapters.classList.toggle('shown', shown);
      button.setAttribute('aria-expanded', String(shown));
    };
    button.addEventListener('click', () => set(!chapters.classList.contains('shown')));
    document.addEventListener('keydown', ({ key }) => key === 'Escape' && set(false));
    const current = chapters.querySelector('[aria-current]');
    if (current) chapters.scrollTop = Math.max(0, current.offsetTop - chapters.clientHeight / 2);
  }

  /** Colours code, lets the keyboard scroll it, and adds a button that copies it. */
  function code() {
    for (const block of document.querySelectorAll('pre > code')) {
      const language = [...block.classList].find((name) => name.startsWith('language-'))?.slice(9);
      if (language !== 'text' && window.hljs?.getLanguage(language)) window.hljs.highlightBlock(block);
      if (language === 'text' || !navigator.clipboard) continue;
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'button copy';
      button.textContent = 'Copy';
      button.addEventListener('click', async () => {
        await navigator.clipboard.writeText(block.textContent);
        button.textContent = 'Copied';
      });
      block.parentElement.append(button);
    }
    for (const wide of document.querySelectorAll('pre > code, .table-wrapper')) {
      if (wide.scrollWidth > wide.clientWidth) {
        wide.tabIndex = 0;
        wide.setAttribute('role', 'group');
        wide.setAttribute('aria-label', wide.matches('code') ? 'Code, scrollable' : 'Table, scrollable');
      }
    }
  }

  /** Lists the headings of a long page beside it. */
  function headings() {
    const list = document.querySelector('.headings');
    const found = [...document.querySelectorAll('article h2[id]')];
    if (found.length < 2) return;
    const title = document.createElement('p');
    title.textContent = 'On this page';
    const items = document.createElement('ul');
    for (const heading of found) {
      const link = document.createElement('a');
      link.href = `#${heading.id}`;
      link.textContent = heading.textContent;
      items.append(document.createElement('li'));
      items.lastChild.append(link);
    }
    list.append(title, items);
    list.hidden = false;
  }

  /** Loads a script of the site. */
  function load(name) {
    return new Promise((resolve, reject) => {
      const script = document.createElement('script');
      script.src = root + name;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${name} cannot be loaded`));
      document.head.append(script);
    });
  }

  let index;
  /** Returns the search index. The first call loads it, and so does the next one after a failure. */
  function loaded() {
    window.search ??= {};
    index ??= load('elasticlunr.min.js')
      .then(() => load('searchindex.js'))
      .then(() => ({ ...window.search, index: window.elasticlunr.Index.load(window.search.index) }))
      .catch((error) => {
        // The next call tries again.
        index = undefined;
        throw error;
      });
    return index;
  }

  /** Returns the part of a text around the first of the words. */
  function excerpt(body, words) {
    const text = body.toLowerCase();
    const places = words.map((word) => text.indexOf(word)).filter((place) => place >= 0);
    // The excerpt begins with a whole word.
    const from = places.length > 0 ? body.lastIndexOf(' ', Math.max(0, Math.min(...places) - 40)) + 1 : 0;
    return `${from > 0 ? '… ' : ''}${body.slice(from, from + 150)}${body.length > from + 150 ? ' …' : ''}`;
  }

  /** Searches while the user types. */
  function search() {
    const input = document.querySelector('#search');
    const found = document.querySelector('.found');
    const [status, list] = found.children;
    const hide = () => (found.hidden = true);
    input.addEventListener('focus', () => loaded().catch(() => {}));
    input.addEventListener('input', async () => {
      const asked = input.value.trim();
      if (asked.length < 2) return hide();
      const { index, search_options, doc_urls } = await loaded();
      if (asked !== input.value.trim()) return;
      const results = index.search(asked, search_options).slice(0, 15);
      const words = asked.toLowerCase().split(/\s+/);
      status.textContent = results.length > 0 ? `${results.length} results` : `Nothing found for “${asked}”`;
      list.replaceChildren(
        ...results.map(({ ref, doc }) => {
          const [item, link, text] = ['li', 'a', 'span'].map((name) => document.createElement(name));
          link.href = root + doc_urls[ref];
          link.textContent = doc.breadcrumbs;
          link.addEventListener('click', hide);
          text.textContent = excerpt(doc.body, words);
          item.append(link, text);
          return item;
        }),
      );
      found.hidden = false;
    });
    document.querySelector('.search').addEventListener('submit', (event) => {
      event.preventDefault();
      list.querySelector('a')?.click();
    });
    document.addEventListener('click', ({ target }) => !target.closest('.search') && hide());
    document.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') hide();
      if (event.key === '/' && !event.target.closest('input, textarea')) {
        event.preventDefault();
        input.focus();
      }
    });
  }

  document.addEventListener('DOMContentLoaded', () => {
    for (const part of [theme, menu, code, headings, search]) part();
  });
})();
