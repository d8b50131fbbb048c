//! CRC-32C: of bytes, and of two runs of bytes whose CRCs are known.
//!
//! The polynomial is Castagnoli's, as in Kafka's v2 batches. Long runs go to the `crc32c` crate,
//! which interleaves three streams. Runs of up to [`SHORT_BYTES_MAX`] use the processor's CRC
//! instruction in a plain loop, where the crate's set-up would cost more than the work.
//!
//! `unsafe` in this file is only the call of a function whose instructions the processor was
//! just asked for. Each has a safe twin, which other processors use and tests compare with.

/// Longest run that the plain instruction loop takes.
const SHORT_BYTES_MAX: usize = 256;

/// The polynomial with its bits reversed: bit 31 is the coefficient of x^0.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// CRC-32C of `bytes`.
#[inline]
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    append(0, bytes)
}

/// CRC-32C of a run whose CRC is `crc`, followed by `bytes`.
#[inline]
#[must_use]
pub fn append(crc: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() <= SHORT_BYTES_MAX && std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has SSE 4.2.
        return unsafe { x86::append_short(crc, bytes) };
    }
    crc32c::crc32c_append(crc, bytes)
}

/// CRC-32C of three words and a half one, each as big-endian bytes, three zero bytes before the
/// half word, and `rest`: the shape of a frame. The words need not be written to memory first.
#[inline]
#[must_use]
pub(crate) fn of_words(words: [u64; 3], half: u32, rest: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if rest.len() <= SHORT_BYTES_MAX && std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has SSE 4.2.
        return unsafe { x86::of_words(words, half, rest) };
    }
    of_words_soft(words, half, rest)
}

fn of_words_soft(words: [u64; 3], half: u32, rest: &[u8]) -> u32 {
    let mut bytes = [0; 31];
    let (chunks, tail) = bytes.as_chunks_mut::<8>();
    for (chunk, word) in chunks.iter_mut().zip(words) {
        *chunk = word.to_be_bytes();
    }
    tail[3..].copy_from_slice(&half.to_be_bytes());
    append(crc32c::crc32c(&bytes), rest)
}

/// CRC-32C of two runs, one after the other: `second` is the CRC of the later run, which is
/// `second_len` bytes long. Costs about 20 ns whatever the length, so the later run is not read.
#[inline]
#[must_use]
pub fn combine(first: u32, second: u32, second_len: usize) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("sse4.2")
        && std::arch::is_x86_feature_detected!("pclmulqdq")
    {
        // SAFETY: the processor has both.
        return unsafe { x86::shift(first, second_len) } ^ second;
    }
    shift(first, second_len) ^ second
}

/// `crc` times x^(8 * len): what a CRC becomes when `len` zero bytes follow (but for the inversions
/// at both ends, which cancel out in [`combine`]).
fn shift(crc: u32, len: usize) -> u32 {
    let mut product = crc;
    let mut rest = len;
    let mut digit_no = 0;
    while rest != 0 {
        let digit = rest & 15;
        if digit != 0 {
            product = multiply(product, POWERS[digit_no % DIGITS][digit]);
        }
        rest >>= 4;
        digit_no += 1;
    }
    product
}

/// Hexadecimal digits of the largest length that has powers in the table: lengths stay below 2^32.
const DIGITS: usize = 8;

/// `POWERS[k][d]` is x^(8 * d * 16^k).
static POWERS: [[u32; 16]; DIGITS] = powers(1 << 31);

/// Like [`POWERS`], times x^-32: the hardware multiplication adds those 32 again.
#[cfg(target_arch = "x86_64")]
static POWERS_LESS_32: [[u32; 16]; DIGITS] = powers(x_to_minus_32());

/// The table of powers, all multiplied by `factor`.
const fn powers(factor: u32) -> [[u32; 16]; DIGITS] {
    let mut table = [[0; 16]; DIGITS];
    // x^8.
    let mut step = 1 << (31 - 8);
    let mut k = 0;
    while k < DIGITS {
        let mut power = 1 << 31;
        let mut d = 0;
        while d < 16 {
            table[k][d] = multiply(power, factor);
            power = multiply(power, step);
            d += 1;
        }
        step = power;
        k += 1;
    }
    table
}

/// The product of two polynomials modulo the CRC's, all with reversed bits.
const fn multiply(a: u32, b: u32) -> u32 {
    let mut product = 0;
    let mut shifted = b;
    let mut bit = 1u32 << 31;
    while bit != 0 {
        if a & bit != 0 {
            product ^= shifted;
        }
        shifted = if shifted & 1 == 0 {
            shifted >> 1
        } else {
            (shifted >> 1) ^ POLYNOMIAL
        };
        bit >>= 1;
    }
    product
}

/// x^-32: dividing by x is shifting the other way.
#[cfg(target_arch = "x86_64")]
const fn x_to_minus_32() -> u32 {
    let mut power: u32 = 1 << 31;
    let mut i = 0;
    while i < 32 {
        power = if power & (1 << 31) == 0 {
            power << 1
        } else {
            ((power ^ POLYNOMIAL) << 1) | 1
        };
        i += 1;
    }
    power
}

/// The same with the processor's CRC and carry-less multiplication instructions.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm_clmulepi64_si128, _mm_crc32_u8, _mm_crc32_u16, _mm_crc32_u32, _mm_crc32_u64,
        _mm_cvtsi64_si128, _mm_cvtsi128_si64,
    };

    use super::{DIGITS, POWERS_LESS_32};

    /// [`super::append`], eight bytes an instruction.
    #[target_feature(enable = "sse4.2")]
    pub(super) fn append_short(crc: u32, bytes: &[u8]) -> u32 {
        !update(!crc, bytes)
    }

    /// [`super::of_words`].
    #[target_feature(enable = "sse4.2")]
    pub(super) fn of_words(words: [u64; 3], half: u32, rest: &[u8]) -> u32 {
        let mut register = u64::from(u32::MAX);
        for word in words {
            register = _mm_crc32_u64(register, word.swap_bytes());
        }
        let register = _mm_crc32_u16(register as u32, 0);
        let register = _mm_crc32_u8(register, 0);
        let register = _mm_crc32_u32(register, half.swap_bytes());
        !update(register, rest)
    }

    #[inline]
    #[target_feature(enable = "sse4.2")]
    fn update(register: u32, bytes: &[u8]) -> u32 {
        let mut register = u64::from(register);
        let (blocks, rest) = bytes.as_chunks::<32>();
        for block in blocks {
            for word in block.as_chunks::<8>().0 {
                register = _mm_crc32_u64(register, u64::from_le_bytes(*word));
            }
        }
        let (words, rest) = rest.as_chunks::<8>();
        for word in words {
            register = _mm_crc32_u64(register, u64::from_le_bytes(*word));
        }
        let mut register = register as u32;
        let rest = if let Some((half, rest)) = rest.split_first_chunk::<4>() {
            register = _mm_crc32_u32(register, u32::from_le_bytes(*half));
            rest
        } else {
            rest
        };
        for byte in rest {
            register = _mm_crc32_u8(register, *byte);
        }
        register
    }

    /// [`super::shift`].
    #[target_feature(enable = "sse4.2,pclmulqdq")]
    pub(super) fn shift(crc: u32, len: usize) -> u32 {
        let mut product = crc;
        let mut rest = len;
        let mut digit_no = 0;
        while rest != 0 {
            let digit = rest & 15;
            if digit != 0 {
                product = multiply(product, POWERS_LESS_32[digit_no % DIGITS][digit]);
            }
            rest >>= 4;
            digit_no += 1;
        }
        product
    }

    /// `a * b * x^32` modulo the polynomial: the CRC instruction reduces, and multiplies by x^32.
    #[target_feature(enable = "sse4.2,pclmulqdq")]
    fn multiply(a: u32, b: u32) -> u32 {
        let a = _mm_cvtsi64_si128(i64::from(a));
        let b = _mm_cvtsi64_si128(i64::from(b));
        let product = _mm_cvtsi128_si64(_mm_clmulepi64_si128::<0>(a, b)) as u64;
        // With reversed bits the product of two 32-bit numbers stands one bit too low.
        _mm_crc32_u64(0, product << 1) as u32
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{RngCore, SeedableRng};

    use super::*;

    #[test]
    fn the_check_value_of_the_polynomial_comes_out() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn append_agrees_with_the_crate_at_every_short_length_and_alignment() {
        let mut bytes = [0; 600];
        ChaCha8Rng::seed_from_u64(1).fill_bytes(&mut bytes);
        for start in 0..9 {
            for end in start..bytes.len() {
                let part = &bytes[start..end];
                assert_eq!(
                    append(77, part),
                    crc32c::crc32c_append(77, part),
                    "{start}..{end}"
                );
            }
        }
    }

    #[test]
    fn of_words_agrees_with_the_bytes_and_with_its_safe_twin() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        for len in 0..300 {
            let words = [0; 3].map(|_: u64| random.next_u64());
            let half = random.next_u32();
            let mut rest = vec![0; len];
            random.fill_bytes(&mut rest);
            let mut bytes = words.map(u64::to_be_bytes).concat();
            bytes.extend_from_slice(&[0; 3]);
            bytes.extend_from_slice(&half.to_be_bytes());
            bytes.extend_from_slice(&rest);
            assert_eq!(
                of_words(words, half, &rest),
                crc32c::crc32c(&bytes),
                "{len}"
            );
            assert_eq!(
                of_words_soft(words, half, &rest),
                crc32c::crc32c(&bytes),
                "{len}"
            );
        }
    }

    #[test]
    fn combine_agrees_with_reading_both_runs_and_with_its_safe_twin() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let mut bytes = vec![0; 1 << 17];
        random.fill_bytes(&mut bytes);
        for round in 0..2_000 {
            let end = random.next_u32() as usize % (bytes.len() >> (round % 16));
            let cut = if end == 0 {
                0
            } else {
                random.next_u32() as usize % end
            };
            let (first, second) = bytes[..end].split_at(cut);
            let (first, second_crc) = (crc32c(first), crc32c(second));
            let whole = crc32c(&bytes[..end]);
            assert_eq!(
                combine(first, second_crc, second.len()),
                whole,
                "{cut} of {end}"
            );
            assert_eq!(
                shift(first, second.len()) ^ second_crc,
                whole,
                "{cut} of {end}"
            );
        }
    }

    #[test]
    fn combine_agrees_with_its_safe_twin_at_large_lengths() {
        for len in [
            0,
            1,
            3,
            255,
            256,
            1 << 20,
            (1 << 30) - 1,
            1 << 30,
            (1 << 32) - 1,
        ] {
            assert_eq!(
                combine(0x1234_5678, 9, len),
                shift(0x1234_5678, len) ^ 9,
                "{len}"
            );
        }
    }
}
