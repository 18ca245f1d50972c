/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a browser with scripts adds to pages that are complete without: a cursor over all figures of
 * a time axis, stretches chosen by dragging, and pages of open sessions that renew themselves. The
 * server makes every answer; this file shows parts of its pages in place.
 */
'use strict';
(() => {
	const SVG = 'http://www.w3.org/2000/svg';
	const main = document.getElementById('main');
	const all = (from, what) => [...from.querySelectorAll(what)];
	const make = (tag, fields, ...inside) => {
		const e = Object.assign(document.createElement(tag), fields);
		e.append(...inside);
		return e;
	};

	/* --- numbers as the pages write numbers --- */

	const PREFIXES = ['n', '\u00b5', 'm', '', 'k', 'M', 'G', 'T', 'P'];
	const words = (v, unit) => {
		if (!Number.isFinite(v))
			return 'no data';
		if (unit === '%')
			return (v * 100).toFixed(v < 0.1 ? 1 : 0) + '\u00a0%';
		if (unit === '' || v === 0)
			return String(+v.toPrecision(3)) + (unit ? '\u00a0' + unit : '');
		const e = Math.max(-3, Math.min(5, Math.floor(Math.log10(Math.abs(v)) / 3 + 1e-9)));
		return +(v / 1000 ** e).toPrecision(3) + '\u00a0' + PREFIXES[e + 3] + unit;
	};
	const seconds = t => t < 1 ? words(t, 's') : +t.toFixed(t < 100 ? 2 : 1) + '\u00a0s';

	/* --- the server's pages and tables --- */

	const page = async url => {
		const answer = await fetch(url, { headers: { Accept: 'text/html' } });
		if (!answer.ok || answer.redirected)
			throw new Error(answer.status);
		return new DOMParser().parseFromString(await answer.text(), 'text/html');
	};

	/* Rows of a CSV as arrays of text; names may have quotes, commas and line ends. */
	const csv = text => {
		const rows = [[]];
		const cell = /("(?:[^"]|"")*"|[^,\r\n]*)(,|\r?\n|$)/gy;
		for (let m; cell.lastIndex < text.length && (m = cell.exec(text));) {
			rows[rows.length - 1].push(m[1][0] === '"' ?
			    m[1].slice(1, -1).replace(/""/g, '"') : m[1]);
			if (m[2] !== ',')
				rows.push([]);
		}
		return rows.filter(r => r.length > 1);
	};

	const tables = new Map();
	const table = figure => {
		const link = figure.querySelector('a.csv');
		if (!link)
			return null;
		if (!tables.has(link.href)) {
			tables.set(link.href, null);
			fetch(link.href).then(a => a.ok ? a.text() : '').then(text => {
				tables.set(link.href, csv(text));
				show();
			}).catch(() => tables.delete(link.href));
		}
		return tables.get(link.href);
	};

	/* --- the cursor and the chosen stretch --- */

	let at = null;          /* second of the cursor; null without a cursor */
	let chosen = null;      /* the two ends of a stretch in seconds, in the order of choosing */
	let dragging = false;
	const figures = () => all(document, 'figure[data-step]');
	const span = f => f.dataset.step * f.dataset.n;

	/* The overlay of a figure: [the chosen area, the cursor's line, the read-out]. */
	const overlay = figure => {
		if (figure.overlay)
			return figure.overlay;
		const svg = figure.querySelector(':scope > svg');
		const area = document.createElementNS(SVG, 'rect');
		const line = document.createElementNS(SVG, 'line');
		const read = make('ul', { className: 'read' });
		area.setAttribute('class', 'chosen');
		area.setAttribute('height', svg.getAttribute('height'));
		line.setAttribute('class', 'cursor');
		line.setAttribute('y2', svg.getAttribute('height'));
		svg.append(area, line);
		read.ariaHidden = 'true';
		svg.after(read);
		all(svg, '.chosen').forEach(e => e !== area && e.remove());
		return figure.overlay = [area, line, read];
	};

	/* The values of all lines of a figure at the cursor: [[name, words]]. */
	const values = figure => {
		const rows = table(figure), i = Math.floor(at / figure.dataset.step);
		if (!rows || !rows[i + 1])
			return [];
		return rows[0].slice(1).map((name, k) =>
		    [name, words(parseFloat(rows[i + 1][k + 1]), figure.dataset.unit)]);
	};

	const show_figure = figure => {
		const [area, line, read] = overlay(figure), whole = span(figure);
		const share = t => 100 * Math.max(0, Math.min(1, t / whole));
		if (chosen) {
			const ends = [share(Math.min(...chosen)), share(Math.max(...chosen))];
			area.setAttribute('x', ends[0] + '%');
			area.setAttribute('width', ends[1] - ends[0] + '%');
		}
		area.style.display = chosen ? '' : 'none';
		line.style.display = read.style.display = at === null ? 'none' : '';
		if (at === null)
			return;
		line.setAttribute('x1', share(at) + '%');
		line.setAttribute('x2', share(at) + '%');
		const svg = line.ownerSVGElement.getBoundingClientRect();
		const box = figure.getBoundingClientRect(), x = svg.width * share(at) / 100;
		read.style.top = svg.top - box.top + 'px';
		read.style.left = x < svg.width / 2 ? svg.left - box.left + x + 8 + 'px' : 'auto';
		read.style.right = x < svg.width / 2 ? 'auto' : box.right - svg.left - x + 8 + 'px';
		read.replaceChildren(make('li', {}, seconds(at)), ...values(figure).map(([name, v]) =>
		    make('li', {}, make('bdi', {}, name), ' ', make('b', {}, v))));
	};

	const show = () => {
		figures().forEach(show_figure);
		const tool = document.querySelector('.tool input');
		const first = figures()[0];
		if (!tool || at === null || !first)
			return;
		tool.value = at;
		tool.setAttribute('aria-valuetext', seconds(at) + ': ' +
		    values(first).map(v => v.join(' ')).join(', '));
		tool.nextElementSibling.value = seconds(at);
	};

	/* The second below the pointer; the nearest one of a drag that leaves the figure. */
	const second = (figure, event) => {
		const box = figure.querySelector(':scope > svg').getBoundingClientRect();
		return span(figure) * Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
	};
	const figure_of = event => {
		const svg = event.target.closest && event.target.closest('figure[data-step] > svg');
		return svg && svg.parentElement;
	};

	/* --- a stretch: the server's section of the page, in place --- */

	const form = () => document.querySelector('form.stretch');

	const stretch = async (from, to) => {
		const url = new URL(location.href);
		url.searchParams.set('from', from);
		url.searchParams.set('to', to);
		url.hash = '';
		const doc = await page(url.href), part = doc.getElementById('stretch');
		if (!part)
			return;
		const old = document.getElementById('stretch');
		sent.set(key(part), part.outerHTML);
		if (old)
			old.replaceWith(part);
		else
			document.getElementById('time').before(part);
		history.replaceState(null, '', url.href);
		chosen = [from, to].map(Number);
		show();
		part.tabIndex = -1;
		part.focus();
	};

	const step_round = (t, figure) => {
		const step = +figure.dataset.step;
		return +Math.min(span(figure), Math.round(t / step) * step).toPrecision(9);
	};
	const choose = figure => {
		const from = step_round(Math.min(...chosen), figure);
		const to = step_round(Math.max(...chosen), figure);
		const f = form();
		if (!f)
			return;
		f.elements.from.value = from;
		f.elements.to.value = to > from ? to : +(from + +figure.dataset.step).toPrecision(9);
		f.requestSubmit();
	};

	/* For the keyboard: a slider moves the cursor, and two buttons make its place an end. */
	const tool_add = () => {
		const f = form(), first = figures()[0];
		if (!f || !first || f.querySelector('.tool'))
			return;
		const slider = make('input', { type: 'range', min: 0, max: span(first),
			step: first.dataset.step, value: 0 });
		const end = name => make('button', { type: 'button', onclick: () => {
			f.elements[name].value = step_round(+slider.value, first);
		} }, name === 'from' ? 'Begins here' : 'Ends here');
		slider.oninput = () => {
			at = +slider.value;
			show();
		};
		f.prepend(make('div', { className: 'tool' },
		    make('label', {}, 'Cursor ', slider, make('output')), end('from'), end('to')));
	};

	/* Paper has no folds. */
	addEventListener('beforeprint', () => {
		all(document, 'details').forEach(e => { e.open = true; });
	});

	document.addEventListener('pointermove', event => {
		const figure = dragging || figure_of(event);
		if (!figure) {
			if (at !== null && event.pointerType === 'mouse' &&
			    document.activeElement !== document.querySelector('.tool input')) {
				at = null;
				show();
			}
			return;
		}
		at = second(figure, event);
		if (dragging)
			chosen = [chosen[0], at];
		show();
	});
	document.addEventListener('pointerdown', event => {
		const figure = figure_of(event);
		if (!figure || event.button !== 0 || !form())
			return;
		dragging = figure;
		at = second(figure, event);
		chosen = [at, at];
		event.preventDefault();
		show();
	});
	document.addEventListener('pointerup', event => {
		const figure = dragging;
		dragging = false;
		if (!figure)
			return;
		if (Math.abs(second(figure, event) - chosen[0]) >= figure.dataset.step / 2)
			choose(figure);
		else
			chosen = null;
		show();
	});
	document.addEventListener('pointercancel', () => {
		if (dragging)
			chosen = null;
		dragging = false;
		show();
	});
	document.addEventListener('keydown', event => {
		if (event.key !== 'Escape' || at === null)
			return;
		at = chosen = null;
		dragging = false;
		show();
	});
	document.addEventListener('submit', event => {
		const f = event.target;
		if (f !== form())
			return;
		event.preventDefault();
		stretch(f.elements.from.value, f.elements.to.value).catch(() => f.submit());
	});

	/* --- lifelines: a box chooses a time, two clicks with a key held measure --- */

	const LEFT = 190, RIGHT = 1180, STEP = 52; /* of the drawing */
	const drawing = document.querySelector('svg.lifelines[data-from]');
	const lines = () => {
		const box = document.createElementNS(SVG, 'rect'), measure = make('input',
		    { type: 'checkbox' }), query = new URLSearchParams(location.search);
		const place = event => {
			const p = new DOMPoint(event.clientX, event.clientY)
			    .matrixTransform(drawing.getScreenCTM().inverse());
			return [Math.max(LEFT, Math.min(RIGHT, p.x)), p.y];
		};
		const time = x => +drawing.dataset.from + (drawing.dataset.to - drawing.dataset.from) *
		    (x - LEFT) / (RIGHT - LEFT);
		const point = y => {
			const names = drawing.dataset.points.split('\n');
			const i = Math.round((drawing.dataset.bottom - y) / STEP);
			return names[Math.max(0, Math.min(names.length - 1, i))];
		};
		const go = () => { location.search = query; };
		let from = null;
		/* the first end is chosen: the next click ends the measurement */
		measure.checked = query.has('a') && !query.has('b');
		box.setAttribute('class', 'chosen');
		box.setAttribute('height', drawing.dataset.bottom);
		document.querySelector('form.filter').append(make('label', {}, measure,
		    ' A click on a point measures from or to it'));
		drawing.addEventListener('pointerdown', event => {
			if (event.button === 0 && !measure.checked)
				from = place(event)[0];
		});
		drawing.addEventListener('dragstart', event => event.preventDefault());
		document.addEventListener('pointermove', event => {
			if (from === null)
				return;
			const to = place(event)[0];
			drawing.append(box);
			box.setAttribute('x', Math.min(from, to));
			box.setAttribute('width', Math.abs(to - from));
		});
		document.addEventListener('pointerup', event => {
			const ends = from === null ? [] : [from, place(event)[0]].sort((a, b) => a - b);
			from = null;
			if (ends[1] - ends[0] < 4 || !ends.length) {
				box.remove();
				return;
			}
			query.set('from', time(ends[0]).toPrecision(9));
			query.set('to', time(ends[1]).toPrecision(9));
			go();
		});
		drawing.addEventListener('click', event => {
			const line = event.target.closest('a');
			if (box.isConnected || (measure.checked && line))
				event.preventDefault();
			if (!measure.checked || !line)
				return;
			const id = new URL(line.href.baseVal, location.href).searchParams.get('id');
			const end = query.get('a') && !query.get('b') ? 'b' : 'a';
			query.set(end, id + '@' + point(place(event)[1]));
			if (end === 'a')
				query.delete('b');
			go();
		});
	};

	/* --- a page that renews itself --- */

	const PARTS = 'details, .scroll';
	let sent = new Map();   /* the parts of the page as the server sent them, by key */
	const key = e => e.tagName + '#' + e.id + '.' + e.className;
	const parts = doc => [...doc.getElementById('main').children];
	const remember = doc => { sent = new Map(parts(doc).map(e => [key(e), e.outerHTML])); };

	/* What a reader opened, scrolled or focused stays so in the new version of a part. */
	const carry_over = (old, now) => {
		const before = all(old, PARTS), after = all(now, PARTS);
		if (old.tagName === 'DETAILS')
			now.open = old.open;
		after.forEach((e, i) => {
			if (!before[i])
				return;
			if (e.tagName === 'DETAILS')
				e.open = before[i].open;
			requestAnimationFrame(() => { e.scrollTop = before[i].scrollTop; });
		});
	};
	const CAN_FOCUS = 'a[href], button, summary, input, select, textarea, [tabindex]';
	const replace = (old, now) => {
		const index = all(old, CAN_FOCUS).indexOf(document.activeElement);
		const typed = all(old, 'input').map(e => e.value);
		const tops = all(old, PARTS).map(e => e.scrollTop);
		carry_over(old, now);
		old.replaceWith(now);
		tool_add();
		all(now, PARTS).forEach((e, i) => { e.scrollTop = tops[i] || 0; });
		all(now, 'input').forEach((e, i) => { if (typed[i]) e.value = typed[i]; });
		if (index >= 0 && all(now, CAN_FOCUS)[index])
			all(now, CAN_FOCUS)[index].focus({ preventScroll: true });
	};

	const renew = doc => {
		const old = new Map(parts(document).map(e => [key(e), e]));
		const now = parts(doc).map(e => document.adoptNode(e));
		const same = [...old.keys()].join() === now.map(key).join();
		const html = new Map(now.map(e => [key(e), e.outerHTML]));
		tables.clear();
		if (!same) {
			now.forEach(e => old.has(key(e)) && carry_over(old.get(key(e)), e));
			main.replaceChildren(...now);
			tool_add();
		} else
			now.forEach(e => sent.get(key(e)) !== html.get(key(e)) &&
			    replace(old.get(key(e)), e));
		sent = html;
		document.title = doc.title;
		show();
	};

	const follow = every_s => setTimeout(async () => {
		let again = every_s;
		try {
			if (!document.hidden && !dragging) {
				const doc = await page(location.href);
				again = +doc.getElementById('main').dataset.live;
				renew(doc);
			}
		} catch (e) {
			/* the box may be restarting: ask again later */
		}
		if (again > 0)
			follow(again);
	}, every_s * 1000);

	remember(document);
	tool_add();
	if (drawing)
		lines();
	if (form() && form().elements.from.value !== '' && document.getElementById('stretch')) {
		chosen = [+form().elements.from.value, +form().elements.to.value];
		show();
	}
	if (+main.dataset.live > 0)
		follow(+main.dataset.live);
})();
